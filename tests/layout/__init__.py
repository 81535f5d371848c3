"""Where tensors lie: planner, proof of the plan, names, texts."""
