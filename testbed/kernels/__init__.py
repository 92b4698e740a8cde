"""Kernels: find the source, patch, configure and compile it, keep and name the result.

Read first: resolve.resolve() for which kernels there are, build.ensure() for the
road from a Kernel to a BuiltKernel, cache.find() for where that road is cut short.
"""
