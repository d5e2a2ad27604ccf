"""Commands: one module for each; ``verbs`` is the table of them and of their options.

The module of a verb is imported when the verb is used.
"""
