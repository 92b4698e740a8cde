"""The sender model: Linux's TCP sender on a simulated path, as a Trace.

Sans-IO and in integer nanoseconds: nothing here reads a clock, a file or a kernel, and
the same variant gives the same prediction. Names of fields and functions are the
kernel's. Read first: simulate.simulate, features.Features, output.Output.

It is typed so that mypyc can compile it, see testbed.compiled.
"""

from testbed.compiled import search_path

__path__ = search_path(__path__)
