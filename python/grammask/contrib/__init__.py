"""Adapters to other libraries, each imported by its own name:

grammask.contrib.hf    a LogitsProcessor for generate() of transformers
"""
