"""What is asked: plans, their public types, how they are bounded, and how far one unit reaches."""
