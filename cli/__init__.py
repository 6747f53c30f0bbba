"""The command line: commands, settings, progress, logs, and the start of the server.

Input: arguments, environment, permanode.toml. Output: exit codes, text or JSON. No other package imports this one.
"""
