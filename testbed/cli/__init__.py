"""The command line: verbs to the pipeline, results to the terminal.

Only this prints.
"""
