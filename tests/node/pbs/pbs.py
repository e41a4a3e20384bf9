# SPDX-License-Identifier: GPL-2.0-or-later
# pbs.py - a fake of the module `pbs` that pbs_python of OpenPBS gives to a hook. It is no part of PBS, and nothing here was written by
# its authors: it has what docs/pbs.md says of the module, as far as pbs/reeve.py uses it. fake_pbs_python fills it from the lines of an event, as the
# real one was seen to do: an attribute of a job that it does not know leaves an event without env and progname, and it crashes when it writes the outcome.
import json
import os
import signal

EVENT_ERROR = 1
# Numbers of OpenPBS (src/include/hook.h); only that they differ matters.
QUEUEJOB, MODIFYJOB = 0x01, 0x02
EXECJOB_BEGIN, EXECJOB_PROLOGUE, EXECJOB_EPILOGUE = 0x80, 0x100, 0x200
EXECJOB_POSTSUSPEND, EXECJOB_PRERESUME = 0x400000, 0x800000
EXECJOB_END, EXECHOST_PERIODIC, EXECJOB_LAUNCH, EXECJOB_ATTACH = 0x400, 0x1000, 0x2000, 0x20000

_told = json.loads(os.environ.pop("FAKE_PBS_TOLD"))


class _job:
    """Attributes of a job; one that is unset is None, as in PBS."""

    def __init__(self, told):
        self.__dict__.update(told)

    def __getattr__(self, name):
        return None

    def in_ms_mom(self):
        return self.__dict__.get("is_here_first", True)

    def stdout_file(self):
        return self.__dict__.get("stdout")

    def stderr_file(self):
        return self.__dict__.get("stderr")


class _resources(dict):
    """An unset resource is None; one that the server does not define is an error."""

    def __missing__(self, name):
        if name in ("vmem", "jobfs", "ncpus", "ngpus", "mem", "select", "reeve_checked"):
            return None
        raise AttributeError("resource '%s' does not exist" % name)


class _event:
    def __init__(self):
        self.type = globals()[_told["type"].upper()]
        self.job = _job(_told["job"])
        self.job.Resource_List = _resources(_told["resources"])
        self.job.delete = lambda: _told.update(deletes=True)
        self.job_list = {name: None for name in _told["job_list"]}
        if _told["job_o"] is not None:
            self.job_o = _job(_told["job_o"])
        if _told["is_broken"]:
            return
        if "pid" in _told["event"]:
            self.pid = int(_told["event"]["pid"])
        if "progname" in _told["event"]:
            self.progname = _told["event"]["progname"]
        self.env = dict(pair.split("=", 1) for pair in _told["event"].get("env", "").split("\x1f") if "=" in pair)

    def _end(self, verdict, text):
        if _told["is_broken"]:
            os.kill(os.getpid(), signal.SIGSEGV)
        told = {"verdict": verdict, "text": text, "env": getattr(self, "env", {}), "deletes": _told.get("deletes", False)}
        told["resources"] = dict(self.job.Resource_List)
        with open(_told["outcome"], "w", encoding="utf-8") as f:
            json.dump(told, f)

    def accept(self, ecode=0):
        self._end("accept", "")
        raise SystemExit(str(ecode))

    def reject(self, emsg="", ecode=255):
        self._end("reject", emsg)
        raise SystemExit(str(ecode))


_the_event = _event()


def event():
    return _the_event


def get_local_nodename():
    return _told["host"]


def get_pbs_conf():
    return {"PBS_HOME": "/var/spool/fake_pbs", "PBS_MOM_HOME": ""}


def logmsg(level, text):
    with open(os.environ["FAKE_PBS_LOG"], "a", encoding="utf-8") as f:
        f.write(text + "\n")
