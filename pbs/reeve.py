# SPDX-License-Identifier: GPL-2.0-or-later
# reeve.py - the hook of PBS for Reeve: holds each job to its vmem and jobfs, and says why one was ended. docs/pbs.md tells how it is installed.
#
# pbs_mom runs it as root through pbs_python:
#
#   execjob_launch      as a child of the process that is about to become a task, which waits for it: the agent (reeve-agent, Engine = pbs) finds
#                       that process, puts the job's limits in force and moves it into the job's cgroup before the task runs
#   execjob_attach      a process that comes into the job otherwise (pbs_attach)
#   execjob_epilogue    the job has ended: the end message of one that Reeve has ended goes to its error file; its disk is removed
#   execjob_end         the same, where the epilogue did not run
#   execjob_postsuspend, execjob_preresume   PBS has stopped the job, or continues it: the time between is free
#   exechost_periodic   which jobs PBS has here: the agent ends what it has beside them
#
# and pbs_server, where it is installed there too:
#
#   queuejob, modifyjob an amount above the site's bound, and text that could forge an event on a node, are refused where the user sees it; the job
#                       gets a mark that its user cannot set (mark_resource). A job without the mark starts nothing
#
# pbs_mom writes an event as lines "attribute=value", and starts the task all the same if pbs_python cannot read them or breaks. So this hook believes
# of a launch only the job's id, and only if no attribute is there twice; all else comes from pbs_mom's own file of the job. If the event is damaged it
# kills the process that would become the task. The names of GPUs come from the file that the hook pbs_cgroups keeps of them for root. The
# environment of a job is its user's: nothing is read from it.
import errno
import grp
import json
import os
import pwd
import re
import resource
import signal
import socket
import stat
import struct
import time

import pbs

VERSION = 3
SOCKET = "/run/reeve/pbs.sock"
PATIENCE_S = 20  # for an agent that is being restarted, and for its answer; the hook's alarm must be longer
ASK_TRIES = 3  # where it is killed or restarted before it answers; within the same time
END_PATIENCE_S = 8  # pbs_mom stands meanwhile: an agent that takes longer ends the job, and removes its disk, on its own
MESSAGE_MAX = 8191
AMOUNT_MAX = 2**63 // 1024 - 1
COUNT_MAX = 1 << 20
GPU_NAMES_MAX = 1023


class Refusal(Exception):
    """The job must not run, whether or not an agent answers; the text is for its user."""


class Damaged(Exception):
    """The event of this launch was forged or cannot be read: pbs_mom would not see a refusal. The task must be killed."""


class NoAgent(Exception):
    """Nothing holds the job to its limits; the text says why, and what to do."""


# ---- amounts, as PBS writes them ----

UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40, "p": 1 << 50}


def read_size(name, text):
    """ "4gb", "512mw", "1000": bytes. A word has 8 bytes."""
    m = re.fullmatch(r"([0-9]+)(?:([kmgtp]?)([bw]))?", str(text).strip().lower())
    if not m:
        raise Refusal("%s=%s is no amount: write it like 4gb" % (name, text))
    n = int(m.group(1)) * UNITS[m.group(2) or ""] * (8 if m.group(3) == "w" else 1)
    if n > AMOUNT_MAX:
        raise Refusal("%s=%s is too large" % (name, text))
    return n


def format_size(n):
    for unit, at in (("tb", 1 << 40), ("gb", 1 << 30), ("mb", 1 << 20), ("kb", 1 << 10)):
        if n and n % at == 0:
            return "%d%s" % (n // at, unit)
    return "%db" % n


def split_chunks(exec_vnode):
    """ "(n1:ncpus=2:mem=4gb+n1[1]:ncpus=1)+(n2:ncpus=2)": a list of (vnode, {resource: text})."""
    chunks = []
    for part in str(exec_vnode or "").replace("(", "").replace(")", "").split("+"):
        words = part.split(":")
        if words[0]:
            pairs = (w.split("=", 1) for w in words[1:] if "=" in w)
            chunks.append((words[0], dict(pairs)))
    return chunks


def split_select(select):
    """ "2:ncpus=4:vmem=4gb+1:ncpus=1": the resources of each kind of chunk."""
    kinds = []
    for part in str(select or "").split("+"):
        kinds.append(dict(w.split("=", 1) for w in part.split(":") if "=" in w))
    return kinds


def is_of_host(vnode, host):
    return vnode == host or vnode.startswith(host + "[")


def count_hosts(exec_host, exec_vnode):
    """ "n1/0*4+n2/1": 2."""
    hosts = {h.split("/")[0] for h in str(exec_host or "").split("+") if h}
    return len(hosts) or len({v.split("[")[0] for v, _ in split_chunks(exec_vnode)}) or 1


def check_shares(job, name, chunks, n_hosts):
    """The scheduler writes the amounts of the chunks only for resources in its line `resources:`. Without them an even share would be a guess."""
    stated = any(name in has for has in split_select(resource_of(job, "select")))
    if stated and n_hosts > 1 and not any(name in has for _, has in chunks):
        raise Refusal("it is not known how its %s is shared by its %d nodes: a manager adds %s to the line resources: of sched_config" % (name, n_hosts, name))


def share_of(name, read, chunks, host, total, n_hosts):
    """What the job has on this host: of its chunks here, or an even share of the whole where no chunk states it. None: it states none."""
    if any(name in has for _, has in chunks):
        return sum(read(name, has[name]) for v, has in chunks if name in has and is_of_host(v, host))
    return None if total is None else -(-read(name, total) // n_hosts)


def sum_of(name, read, chunks, total):
    """What the whole job has: of all its chunks, or `total` where none states it. 0: it states none."""
    if any(name in has for _, has in chunks):
        return sum(read(name, has[name]) for _, has in chunks if name in has)
    return 0 if total is None else read(name, total)


def read_count(name, text):
    return min(int(str(text)), COUNT_MAX) if re.fullmatch(r"[0-9]{1,7}", str(text)) else 0


# ---- the site's words ----

WORDS = {
    "unguarded": "refuse",
    "default_vmem": None,
    "max_vmem": None,
    "default_jobfs": None,
    "max_jobfs": None,
    "vmem_action": "kill",
    "vmem_resource": "vmem",
    "jobfs_resource": "jobfs",
    "gpu_resource": "ngpus",
    "mark_resource": "reeve_checked",
    "socket": SOCKET,
}
CHOICES = {"unguarded": ("refuse", "run"), "vmem_action": ("kill", "enomem")}


def read_site(text):
    """Of the hook's configuration (JSON). ValueError says what is wrong with it."""
    stated = json.loads(text) if text else {}
    if not isinstance(stated, dict):
        raise ValueError("the hook's configuration is no JSON object")
    for name in stated:
        if name not in WORDS:
            raise ValueError("'%s' is no word of the hook's configuration: %s" % (name, ", ".join(WORDS)))
    site = dict(WORDS, **stated)
    for name, choices in CHOICES.items():
        if site[name] not in choices:
            raise ValueError("%s is '%s', and must be %s" % (name, site[name], " or ".join(choices)))
    for name in ("default_vmem", "max_vmem", "default_jobfs", "max_jobfs"):
        try:
            site[name] = 0 if site[name] is None else read_size(name, site[name])
        except Refusal as x:
            raise ValueError(str(x))
    return site


def load_site():
    """The site's words, and what is wrong with them: then nothing says that jobs may run unguarded."""
    try:
        path = os.environ.get("PBS_HOOK_CONFIG_FILE")
        if not path:
            return read_site(""), None
        with open(path, encoding="utf-8") as f:
            return read_site(f.read()), None
    except (OSError, ValueError) as x:
        return dict(WORDS, default_vmem=0, max_vmem=0, default_jobfs=0, max_jobfs=0), "the hook's configuration: %s" % x


def check_bound(site, kind, n):
    bound = site["max_" + kind]
    if bound and n > bound:
        raise Refusal(
            "%s of %s on a node is above this site's bound of %s" % (site[kind + "_resource"], format_size(n), format_size(bound))
        )
    return n


# ---- a job, as PBS has it ----


def text_of(job, name):
    """"": unset."""
    value = getattr(job, name, None)
    return "" if value is None else str(value)


def resource_of(job, name):
    """None: not requested, or no resource of this server."""
    try:
        return job.Resource_List[name]
    except Exception:  # each version of PBS has its own for a resource that is not defined
        return None


# ---- what pbs_mom knows of a job ----

RECORD_BYTES = 96  # struct svrattrl of OpenPBS's attribute.h: then the name, the resource and the value, each with its NUL
RECORD_SIZES_AT = 72  # its length, and those of the three
RECORD_END = -711


def walk_records(data, at):
    """The records from `at` to the end mark, as [(name, resource, value)]; None: no records begin there."""
    records = []
    while at + RECORD_BYTES <= len(data):
        size, *lengths = struct.unpack_from("4i", data, at + RECORD_SIZES_AT)
        if size == RECORD_END:
            return records if records and at + RECORD_BYTES == len(data) else None
        if lengths[0] < 2 or min(lengths) < 0 or size != RECORD_BYTES + sum(lengths) or at + size > len(data):
            return None
        texts, begin = [], at + RECORD_BYTES
        for length in lengths:
            texts.append(data[begin : begin + length].split(b"\0")[0].decode("utf-8", "replace"))
            begin += length
        records.append(tuple(texts))
        at += size
    return None


class MomJob:
    """A job as pbs_mom's file has it, with the attributes that describe() reads. `data`: mom_priv/jobs/ID.JB, whose head differs by version."""

    def __init__(self, id_, data, event_job=None):
        heads = range(0, max(0, len(data) - RECORD_BYTES), 4)
        records = next((r for r in (walk_records(data, at) for at in heads) if r), None)
        if not records:
            raise Refusal("pbs_mom's file of job %s has no attributes that this hook can read" % id_)
        self.id, self.Resource_List, self.event_job = id_, {}, event_job
        for name, res, value in records:
            if name == "Resource_List":
                self.Resource_List[res] = value
            elif not res and name not in ("id", "event_job"):
                self.__dict__[name] = value

    def in_ms_mom(self):
        return self.event_job.in_ms_mom()


def read_mom_job(event_job):
    id_ = str(event_job.id)
    if "/" in id_:
        raise Refusal("'%s' is no id of a job" % id_)
    path = "%s/mom_priv/jobs/%s.JB" % (mom_home(), id_)
    try:
        with open(path, "rb") as f:
            return MomJob(id_, f.read(1 << 24), event_job)
    except OSError as x:
        raise Refusal("pbs_mom's file of the job cannot be read: %s" % x)


def check_event(event, text):
    """Damaged: not as pbs_mom writes it. `text`: the event, as pbs_python has read it."""
    for name in ("env", "progname"):
        if not getattr(event, name, None):
            raise Damaged("its event has no %s: an attribute or a variable of it was made to end the event early" % name)
    keys = [line.split(b"=", 1)[0] for line in text.split(b"\n") if line.startswith(b"pbs.") and b"=" in line]
    for key in keys:
        if keys.count(key) > 1 and b"_mom_list" not in key:
            raise Damaged("its event has %s twice: an argument or a variable of it was made to look like an attribute" % key[:100].decode("ascii", "replace"))


def event_path():
    """The file of the event that pbs_python was given; None: this is not pbs_python."""
    with open("/proc/self/cmdline", "rb") as f:
        words = f.read().split(b"\0")
    return words[words.index(b"-i") + 1].decode() if b"--hook" in words and b"-i" in words[:-1] else None


def read_event_text():
    try:
        with open(event_path() or "", "rb") as f:
            return f.read(1 << 26)
    except OSError as x:
        raise Damaged("its event cannot be read again: %s" % x)


def check_mark(job, site):
    name = site["mark_resource"]
    if not job.Resource_List.get(name):
        raise Refusal("pbs_server has not checked this job: the hook reeve_submit was not there when it was submitted (docs/pbs.md, step 3); %s is not set" % name)


def describe(job, site, host):
    """The question that the agent gets of this job, without `ask`."""
    chunks = split_chunks(text_of(job, "exec_vnode"))
    n_hosts = count_hosts(text_of(job, "exec_host"), text_of(job, "exec_vnode"))

    def here(name, read):
        return share_of(name, read, chunks, host, resource_of(job, name), n_hosts)

    def limit(kind):
        check_shares(job, site[kind + "_resource"], chunks, n_hosts)
        n = here(site[kind + "_resource"], read_size)
        return check_bound(site, kind, site["default_" + kind] if n is None else n)

    def whole(name):
        return min(sum_of(name, read_count, chunks, resource_of(job, name)), COUNT_MAX)

    user = pwd.getpwnam(text_of(job, "euser"))
    group = text_of(job, "egroup")
    ngpus = min(here(site["gpu_resource"], read_count) or 0, COUNT_MAX)
    project = text_of(job, "project")
    if project in ("", "_pbs_project_default"):
        project = text_of(job, "Account_Name")
    question = {
        "uid": user.pw_uid,
        "gid": grp.getgrnam(group).gr_gid if group else user.pw_gid,
        "user": user.pw_name[:63],
        "account": project[:63],
        "queue": text_of(job, "queue")[:63],
        "ncpus": here("ncpus", read_count) or 0,
        "mem_bytes": here("mem", read_size) or 0,
        "vmem_bytes": limit("vmem"),
        "jobfs_bytes": limit("jobfs"),
        "nodes": n_hosts,
        "job_ncpus": whole("ncpus"),
        "ngpus": ngpus,
        "job_ngpus": whole(site["gpu_resource"]),
        "gpus": names_of_gpus(str(job.id)) if ngpus else "",
        "first": bool(job.in_ms_mom()),
    }
    question.update(name_of(job))
    if site["vmem_action"] == "enomem":
        question["vmem_refuses"] = True
    return question


def name_of(job):
    """run_version counts the times that pbs_server has started the job, from 1."""
    run = text_of(job, "run_version") or text_of(job, "run_count")
    return {"id": str(job.id), "run": int(run) if run.isdigit() else 0}


# ---- GPUs ----


def mom_home():
    """Where pbs_mom keeps its files."""
    conf = pbs.get_pbs_conf() or {}
    return conf.get("PBS_MOM_HOME") or conf.get("PBS_HOME") or "/var/spool/pbs"


def read_device_names(text):
    """Of what pbs_cgroups has assigned to a job on this node (JSON): device files by their last name, "nvidia0,nvidia-cap66". What is no name is left out."""
    assigned = json.loads(text)
    names = assigned.get("device_names") if isinstance(assigned, dict) else None
    names = [n for n in names or [] if isinstance(n, str) and re.fullmatch(r"(nvidia|renderD)[A-Za-z0-9-]{1,40}", n)]
    while len(",".join(names)) > GPU_NAMES_MAX:
        names.pop()
    return ",".join(names)


def names_of_gpus(job):
    """"": not known. The folder is root's alone; the job's environment, where pbs_cgroups says the same, is not."""
    if "/" in job:
        return ""
    try:
        with open("%s/mom_priv/hooks/hook_data/%s" % (mom_home(), job), encoding="utf-8") as f:
            return read_device_names(f.read(1 << 20))
    except FileNotFoundError:
        return ""
    except Exception as x:  # a job runs and is charged without that its GPUs are measured
        log("job %s: its GPUs are not measured: %s: %s" % (job, type(x).__name__, x))
        return ""


# ---- the agent ----


def is_coming(error, path):
    """An agent that was killed leaves its socket, and systemd starts it again. One that was stopped leaves none, nor does one that `systemctl restart`
    stops: there the mark stays that systemd makes beside the socket (RuntimeDirectory= of reeve-agent.service)."""
    return error == errno.ECONNREFUSED or error == errno.ENOENT and os.path.isdir(os.path.join(os.path.dirname(path), "service"))


def connect(path, patience_s, deadline):
    while True:
        s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        s.settimeout(patience_s)
        try:
            s.connect(path)
            return s
        except OSError as x:
            s.close()
            if not is_coming(x.errno, path) or time.monotonic() > deadline:
                hint = "; Engine = pbs in agent.conf?" if x.errno == errno.ENOENT and is_coming(x.errno, path) else ""
                raise NoAgent("no reeve-agent answers at %s (%s): systemctl status reeve-agent%s" % (path, x.strerror or x, hint))
        time.sleep(0.2)


def ask_once(path, message, patience_s, deadline):
    """The answer; b"": the agent was killed or restarted before it answered."""
    with connect(path, patience_s, deadline) as s:
        try:
            s.send(message)
            return s.recv(MESSAGE_MAX + 1)
        except socket.timeout:
            raise NoAgent("reeve-agent runs and does not answer: systemctl status reeve-agent")
        except (ConnectionResetError, BrokenPipeError):
            return b""
        except OSError as x:
            raise NoAgent("reeve-agent gave no answer (%s): journalctl -u reeve-agent" % x)


def ask(site, kind, question, patience_s=PATIENCE_S):
    message = json.dumps(dict(question, version=VERSION, ask=kind)).encode()
    if len(message) > MESSAGE_MAX:
        raise NoAgent("the question to reeve-agent is too long (%d bytes)" % len(message))
    deadline = time.monotonic() + patience_s
    for _ in range(ASK_TRIES):
        text = ask_once(site["socket"], message, patience_s, deadline)
        if text or time.monotonic() > deadline:
            break
    try:
        answer = json.loads(text.decode())
    except ValueError as x:
        raise NoAgent("reeve-agent gave no answer (%s): journalctl -u reeve-agent" % (x if text else "it closed the connection"))
    if not isinstance(answer, dict) or answer.get("version") != VERSION:
        raise NoAgent("reeve-agent and the hook of PBS are of different versions: import the hook again (docs/pbs.md)")
    return answer


# ---- words for the user ----


def error_file(job):
    """Where PBS spools the job's standard error; None: interactive, or not on this node."""
    if not job.in_ms_mom():
        return None
    return job.stdout_file() if text_of(job, "Join_Path") == "oe" else job.stderr_file()


def append_as(user, group, path, text):
    """In a child with the user's rights alone: the path leads through what the user may have changed. Written once."""
    os.setgroups([group])
    os.setgid(group)
    os.setuid(user)
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    fd = os.open(path, flags)
    st = os.fstat(fd)
    if not stat.S_ISREG(st.st_mode) or st.st_uid != user or st.st_nlink != 1:
        return
    tail = os.pread(fd, 1 << 16, max(0, st.st_size - (1 << 16)))
    if text.encode() not in tail:
        os.write(fd, text.encode())


def tell(job, text):
    """At the end of the job's error file. That it cannot be written there must not change what becomes of the job."""
    log("job %s: %s" % (job.id, text))
    try:
        path = error_file(job)
        if not path:
            return
        user = pwd.getpwnam(text_of(job, "euser"))
        child = os.fork()
        if child == 0:
            try:
                append_as(user.pw_uid, user.pw_gid, path, "\nreeve: %s\n" % text)
            finally:
                os._exit(0)
        os.waitpid(child, 0)
    except Exception as x:
        log("job %s: its error file cannot be written: %s" % (job.id, x))


def log(text):
    pbs.logmsg(pbs.EVENT_ERROR, "reeve: %s" % text)


# ---- events ----


def lift_rlimit():
    """pbs_mom bounds the address space of each single process to the job's vmem (RLIMIT_AS). The kernel counts that of all together now, and
    what exceeds it shall end the job with a reason, and not only let one call fail."""
    try:
        resource.prlimit(os.getppid(), resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    except OSError as x:
        log("RLIMIT_AS of process %d stays: %s" % (os.getppid(), x))


def run_unguarded(event, site, why):
    """Without an agent: as the site has decided."""
    if site["unguarded"] == "run":
        tell(event.job, "this job runs without Reeve's limits: %s" % why)
        event.accept()
    refuse(event, "nothing of this job runs, since nothing would hold it to its limits: %s" % why)


def refuse(event, text):
    tell(event.job, text)
    event.reject("reeve: %s" % text)


def kill_task(event, text):
    """The parent waits for this hook and becomes the task afterwards, also if pbs_python breaks while it writes a refusal."""
    log("job %s: %s; process %d is killed" % (getattr(event.job, "id", "?"), text, os.getppid()))
    if event_path() and os.getppid() > 1:
        os.kill(os.getppid(), signal.SIGKILL)
    event.reject("reeve: %s" % text)


def enter(event, site, kind, more):
    """The agent's answer for a process that comes into the job; else the event is over."""
    answer = {}
    try:
        job = read_mom_job(event.job)
        check_mark(job, site)
        question = describe(job, site, pbs.get_local_nodename())
        answer = ask(site, kind, dict(question, **more))
    except Refusal as x:
        refuse(event, "this job may not run: %s" % x)
    except NoAgent as x:
        run_unguarded(event, site, x)
    except Exception as x:  # of PBS's attributes, or of the user database: the job must not run unguarded for it
        run_unguarded(event, site, "the hook failed: %s: %s" % (type(x).__name__, x))
    if answer.get("verdict") != "go":
        refuse(event, "this job may not run: %s" % answer.get("text", "reeve-agent refused it"))
    return answer


def on_launch(event, site, broken):
    try:
        check_event(event, read_event_text())
    except Damaged as x:
        kill_task(event, "this job may not run: %s" % x)
    if broken:
        run_unguarded(event, site, broken)
    answer = enter(event, site, "launch", {})
    lift_rlimit()
    if answer.get("tmpdir"):
        event.env["TMPDIR"] = event.env["PBS_JOBFS"] = answer["tmpdir"]
    event.accept()


def on_attach(event, site, broken):
    if broken:
        run_unguarded(event, site, broken)
    enter(event, site, "attach", {"pid": int(event.pid)})
    event.accept()


# Negative exit statuses of OpenPBS's job.h. pbs_mom kills the job then.
PBS_ENDS = {
    -24: "by PBS: it used more cores than it requested (ncpus, burst)",
    -25: "by PBS: it used more cores than it requested (ncpus)",
    -26: "by PBS: it exceeded vmem",
    -27: "by PBS: it exceeded mem",
    -28: "by PBS: it exceeded cput",
    -29: "by PBS: it exceeded walltime",
    -11: "by PBS, which queued it again",
    -12: "by PBS, after a checkpoint",
    -14: "by PBS, which queued it again: another of its nodes failed",
    -15: "by PBS, which queued it again, from a checkpoint",
    -18: "by PBS, which queued it again: a hook requested it",
    -19: "by PBS: a hook requested it",
    -20: "by PBS, which queued it again: its first node failed",
}


def wait_status(job):
    """As wait(2) has it; -1: not known. PBS has 256 and above for signals, and below 0 for what it ended itself."""
    text = text_of(job, "Exit_status")
    if not re.fullmatch(r"[0-9]{1,4}", text):
        return -1
    n = int(text)
    return n - 256 if 256 < n < 256 + 65 else n << 8 if n < 256 else -1


def end_text(job):
    """ "": by itself. Why PBS ended the job."""
    text = text_of(job, "Exit_status")
    if not re.fullmatch(r"-[0-9]{1,3}", text):
        return ""
    return PBS_ENDS.get(int(text), "by PBS (exit status %s)" % text)


def delete_ended(job):
    """A job whose script ended before the agent killed it has exit status 0, and jobs that depend on its success would run. PBS gives a job that a hook
    deletes a negative one."""
    if text_of(job, "Exit_status") == "0" and job.in_ms_mom():
        job.delete()


def on_end(event, site, broken):
    """Never refused: PBS would run the job again, or delete it."""
    try:
        question = dict(name_of(event.job), wait_status=wait_status(event.job), end_text=end_text(event.job))
        answer = ask(site, "end", question, END_PATIENCE_S)
        if answer.get("verdict") == "ended":
            tell(event.job, answer.get("text", ""))
            delete_ended(event.job)
    except Exception as x:
        log("job %s: %s" % (event.job.id, x))
    event.accept()


def on_pause(event, site, broken):
    """Of clocks alone: what is not known of it is charged, and PBS goes on."""
    try:
        ask(site, "suspend" if event.type == pbs.EXECJOB_POSTSUSPEND else "resume", name_of(event.job), 5)
    except Exception as x:
        log("job %s: %s" % (event.job.id, x))
    event.accept()


def on_periodic(event, site, broken):
    try:
        jobs = " ".join(str(job).split(".")[0] for job in event.job_list)
        if len(jobs) < 4096:
            ask(site, "alive", {"jobs": jobs}, 5)
    except Exception as x:
        log("the agent was not told which jobs there are: %s" % x)
    event.accept()


# Text of a user that an event on a node repeats, as a line.
TEXTS = (
    "Job_Name", "Account_Name", "project", "Submit_arguments", "comment", "queue", "Output_Path", "Error_Path", "Join_Path", "Keep_Files", "Mail_Users",
    "Mail_Points", "User_List", "group_list", "Shell_Path_List", "Checkpoint", "stagein", "stageout", "depend", "executable", "argument_list", "sandbox",
    "max_run_subjobs", "array_indices_submitted", "job_dir", "server_dyn_res", "release_nodes_on_stageout", "tolerate_node_failures", "security",
)  # fmt: skip


def check_texts(job):
    """Lines that a user adds to an event look like attributes of the job."""
    for name in TEXTS:
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", text_of(job, name)):
            raise Refusal("%s has a line break or another control character" % name)
    resources = getattr(job, "Resource_List", None)
    for name in list(resources.keys()) if hasattr(resources, "keys") else ():
        if re.search(r"[\x00-\x1f\x7f]", str(resources[name] or "")):
            raise Refusal("resource %s has a line break or another control character" % name)
    variables = text_of(job, "Variable_List")
    for line in variables.split("\n"):
        if line.rstrip().endswith('"""') or (line is not variables and line.lstrip().startswith("pbs.")):
            raise Refusal("a variable of the environment has a line that begins with pbs. or ends with three quotes (\"\"\"): unset it, or export less")


def set_mark(event, site):
    """Only hooks and managers may set a resource with flag r. A job that runs keeps what it was started with."""
    job, before = event.job, getattr(event, "job_o", None)
    if before is not None and str(getattr(before, "job_state", "Q")) not in ("Q", "H", "W", "T"):
        return
    try:
        job.Resource_List[site["mark_resource"]] = "1"
    except Exception as x:
        raise Refusal(
            "resource %s cannot be set (%s): a manager makes it with qmgr -c 'create resource %s type=string, flag=rm'"
            % (site["mark_resource"], x, site["mark_resource"])
        )


def on_submit(event, site, broken):
    """Only what can be judged before it is known which nodes the job gets: each chunk lies on one."""
    try:
        check_texts(event.job)
        if getattr(event, "job_o", None) is not None:
            check_texts(event.job_o)
        for kind in ("vmem", "jobfs"):
            name = site[kind + "_resource"]
            kinds = split_select(resource_of(event.job, "select"))
            whole = resource_of(event.job, name)
            for text in [has[name] for has in kinds if name in has]:
                check_bound(site, kind, read_size(name, text))
            if whole is not None and not any(name in has for has in kinds):
                n_chunks = sum(read_count("select", part.split(":")[0]) or 1 for part in str(resource_of(event.job, "select") or "1").split("+"))
                check_bound(site, kind, -(-read_size(name, whole) // n_chunks))
        set_mark(event, site)
    except Refusal as x:
        event.reject("reeve: %s" % x)
    event.accept()


EVENTS = {
    "EXECJOB_LAUNCH": on_launch,
    "EXECJOB_ATTACH": on_attach,
    "EXECJOB_EPILOGUE": on_end,
    "EXECJOB_END": on_end,
    "EXECJOB_POSTSUSPEND": on_pause,
    "EXECJOB_PRERESUME": on_pause,
    "EXECHOST_PERIODIC": on_periodic,
    "QUEUEJOB": on_submit,
    "MODIFYJOB": on_submit,
}


def main():
    event = pbs.event()
    for name, act in EVENTS.items():
        if event.type == getattr(pbs, name, None):
            act(event, *load_site())
    if "execjob_launch" in (event_path() or ""):
        kill_task(event, "this job may not run: its event has no type")
    event.accept()


if __name__ != "reeve_hook":  # the name under which tests import this file
    main()
