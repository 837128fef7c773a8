"""Does an answer sound as sure as its model is? Assertions, how decisive they are worded, how many other answers contradict them."""
