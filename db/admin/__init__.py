"""Operations on a store: migration, status, sizing.

Input: a store or its settings. Output: reports. Queries and adapters never import this package.
"""
