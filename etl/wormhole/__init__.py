"""The pipeline of a Wormhole network: VAAs to cells, cells to rows, rows to frames.

Input: files of VAAs, rows of the event tables, prices. Output: frames of the Wormhole tables.
"""
