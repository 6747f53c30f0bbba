"""The command line: commands, settings, progress, logs, and the server's start.

Input: arguments, environment, permanode.toml. Output: exit codes, text or JSON. Nothing imports this package.
"""
