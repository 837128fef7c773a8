"""What a model's own epistemic markers are worth: sentences with their confidences, and every metric of marker internal confidence on them."""
