"""What a receiver is told of a line of work, by several ways of handing it over.

Tasks with a known truth are written as native sessions, read by the product's own importers, and
handed over by its own drafting and briefing; simpler ways get the same bytes. No model is asked.
"""
