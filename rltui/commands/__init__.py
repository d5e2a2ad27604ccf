"""What each command does: ``verbs`` is the table of them and of their options.

The module of a verb is imported when the verb is used.
"""
