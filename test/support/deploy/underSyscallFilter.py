"""Runs a program with a systemd unit's SystemCallFilter: only these system calls, and an error for all others.

Arguments: a file with a name per line, then the program and its arguments.
"""

import errno
import os
import sys

import seccomp

listed = open(sys.argv[1], encoding="utf-8").read().split()
rules = seccomp.SyscallFilter(seccomp.ERRNO(errno.EPERM))
for name in listed:
    try:
        rules.add_rule(seccomp.ALLOW, name)
    except (RuntimeError, ValueError):
        # This architecture does not have it, or the library is older than systemd.
        pass
rules.load()
os.execv(sys.argv[2], sys.argv[2:])
