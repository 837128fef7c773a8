"""What runs beside the requests of a serving process: following the configuration and the operators, watching for drift, grading."""
