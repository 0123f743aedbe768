"""Measurements and the results document that stores them as JSON.

Facts about one iteration become a `measurement.Measurement`, measurements are stored in a `document.Document`, and
`metrics.METRICS` defines every figure with its unit and meaning, for the docs and the reports.
"""
