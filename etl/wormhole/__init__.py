"""The stages of a Wormhole network's pipeline: VAAs to cells, cells to rows, rows to frames.

Input: files of VAAs, rows of the event tables, prices. Output: frames of the Wormhole tables.
"""
