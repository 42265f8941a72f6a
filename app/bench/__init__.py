"""Measuring speculation honestly: the same prompts with it off and on, in turn.

No Qt, no numpy, no asyncio: the command line and the window share all of this. Start with
`runner.Runner` (runs a `records.Plan` against an `engine.protocol.Engine`) and
`summary.summarise` (samples to numbers and a verdict).
"""
