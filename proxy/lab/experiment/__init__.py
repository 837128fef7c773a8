"""The paper's experiment on a user's own models and questions: collect, grade, fit, measure, reword, measure again, report.

Every step leaves a file and goes on from what the file has, so that an experiment that is stopped pays for nothing twice.
"""
