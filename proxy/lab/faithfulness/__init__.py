"""Does an answer sound as sure as its model is? Assertions, their decisiveness, and how many other answers contradict them."""
