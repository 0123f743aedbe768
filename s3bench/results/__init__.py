"""What was measured, and the JSON file it is kept in.

The way of the data: plain facts about one iteration become a `measurement.Measurement` (pure), measurements are held in
a `document.Document`, and `metrics.METRICS` names every figure, its unit and what it means for the docs and the report.
"""
