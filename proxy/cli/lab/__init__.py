"""Commands for offline work on recorded answers: drawing, grading, measuring, reporting."""
