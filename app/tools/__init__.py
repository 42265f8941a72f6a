"""Tools a model may call, and answers of a forced form. No Qt here.

`registry` knows the tools and the person's choices, `arguments` checks a call, `loop` runs one
question from call to answer, `builtin` and `mcp_client` provide tools, `structured` prepares
and checks answers of a forced form.
"""
