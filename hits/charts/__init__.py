"""Charts as plain data: values become positions of SVG elements, which ``hits/charts/chart.html`` draws.

Horizontal positions are percentages of the chart's width, so that a chart fills its column and its letters keep
their size. Vertical positions are pixels. Each chart has a summary for screen readers, and a table.
"""
