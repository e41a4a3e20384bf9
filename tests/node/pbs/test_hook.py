#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""test_hook.py - what pbs/reeve.py reads of amounts, chunks and its configuration, without PBS, agent or root: its module `pbs` is empty here. TAP."""
import importlib.util
import os
import socket
import struct
import sys
import tempfile
import threading
import time
import types

sys.dont_write_bytecode = True
sys.modules["pbs"] = types.ModuleType("pbs")
HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../pbs/reeve.py")
spec = importlib.util.spec_from_file_location("reeve_hook", HOOK)
hook = importlib.util.module_from_spec(spec)
spec.loader.exec_module(hook)
count = bad = 0


def ok(is_ok, name):
    global count, bad
    count += 1
    bad += not is_ok
    print("%sok %d - %s" % ("" if is_ok else "not ", count, name))


def error(act, *args):
    try:
        return "%r" % (act(*args),)
    except (hook.Refusal, ValueError) as x:
        return str(x)


def size(text):
    return hook.read_size("vmem", text)


G = 1 << 30
ok(size("4gb") == size("4GB") == 4 * G, "sizes have units of 1024, in either case")
ok(size("1000") == size("1000b") == 1000, "a number alone is bytes")
ok(size("2mw") == 16 << 20, "a word has eight bytes")
ok(size("4194304kb") == 4 * G, "as pbs_server writes them in exec_vnode")
for text in ("lots", "", "-1gb", "4 gb", "4g", "1.5gb", "4gbb", "0x10", "4gb\n5gb"):
    ok("no amount" in error(size, text), "%r is no amount" % text)
ok("too large" in error(size, "9999999pb"), "an amount beyond 53 bits of bytes is refused, not wrapped")
ok(hook.format_size(3 * G) == "3gb" and hook.format_size(1536 << 20) == "1536mb", "amounts are written as PBS takes them")

two = hook.split_chunks("(n1[0]:ncpus=2:vmem=1048576kb+n1[1]:ncpus=1:vmem=1gb)+(n2:ncpus=4:vmem=3gb)")


def share(name, host, total=None, chunks=two, n_hosts=2):
    return hook.share_of(name, hook.read_size, chunks, host, total, n_hosts)


ok(share("vmem", "n1") == 2 * G and share("vmem", "n2") == 3 * G, "a host has what the chunks on its vnodes have")
ok(share("vmem", "n") == 0, "a name that begins another's is another host")
ok(hook.share_of("ncpus", hook.read_count, two, "n1", None, 2) == 3, "and the cores of them")
ok(share("jobfs", "n1", "5gb") == -(-5 * G // 2), "what no chunk states is shared evenly, rounded up")
ok(share("jobfs", "n1") is None, "what is not requested is none")
ok(hook.count_hosts("n1/0*4+n1/1+n2/0", "") == 2, "a job with several chunks on a host is on it once")
ok(hook.count_hosts("", "(n1[0]:ncpus=1+n1[1]:ncpus=1)") == 1, "without exec_host its vnodes say it")
ok(hook.split_select("2:ncpus=4:vmem=4gb+1:ncpus=1") == [{"ncpus": "4", "vmem": "4gb"}, {"ncpus": "1"}], "chunks of a request")

gpus = hook.split_chunks("(n1[0]:ncpus=2:ngpus=1+n1[1]:ncpus=2:ngpus=2)+(n2:ncpus=4)+(n3:ncpus=4:ngpus=4)")


def count_gpus(host, chunks=gpus, total=None):
    return hook.share_of("ngpus", hook.read_count, chunks, host, total, 3)


ok([count_gpus(h) for h in ("n1", "n2", "n3")] == [3, 0, 4], "the GPUs of a host are those of its chunks; a chunk without them has none")
ok(count_gpus("n1", two) is None, "a job without GPUs states none")
ok(hook.sum_of("ngpus", hook.read_count, gpus, "9") == 7, "the GPUs of the job are those of all its chunks")
ok(hook.sum_of("ngpus", hook.read_count, two, "4") == 4 and hook.sum_of("ngpus", hook.read_count, two, None) == 0, "or what it states as a whole")
ok(hook.read_count("ngpus", "-1") == hook.read_count("ngpus", "1.5") == hook.read_count("ngpus", "99999999") == 0, "what is no count is none")
ok(hook.read_count("ngpus", "9999999") == 1 << 20, "a count is within what the agent reads")

names = hook.read_device_names
ok(names('{"cpuset.cpus": [0], "device_names": ["nvidia1", "nvidia-cap66"], "devices": ["c", "195:1 rwm"]}') == "nvidia1,nvidia-cap66", "the GPUs that pbs_cgroups has assigned, and MIG instances")
ok(names('{"device_names": ["mic0", "nvidia0,nvidia1", "../nvidia0", 7, "nvidia3"]}') == "nvidia3", "what is no GPU's name is left out")
ok(names("{}") == names("[]") == names('{"device_names": null}') == "", "a job without devices has no names")
ok(len(names('{"device_names": [%s]}' % ",".join('"nvidia-cap%d"' % i for i in range(1000)))) <= 1023, "names end where the agent's field does")
with tempfile.TemporaryDirectory() as home:
    sys.modules["pbs"].get_pbs_conf = lambda: {"PBS_MOM_HOME": "", "PBS_HOME": home}
    said = []
    hook.log = said.append
    os.makedirs(home + "/mom_priv/hooks/hook_data")
    ok(hook.names_of_gpus("7.s") == "" and not said, "without pbs_cgroups no GPU has a name")
    with open(home + "/mom_priv/hooks/hook_data/7[3].s", "w", encoding="utf-8") as f:
        f.write('{"device_names": ["nvidia2"]}')
    ok(hook.names_of_gpus("7[3].s") == "nvidia2", "they are in pbs_cgroups' file of the job, below PBS_HOME")
    sys.modules["pbs"].get_pbs_conf = lambda: {"PBS_MOM_HOME": "/nowhere", "PBS_HOME": home}
    ok(hook.names_of_gpus("7[3].s") == "", "or below PBS_MOM_HOME, where pbs_mom has its own")
    sys.modules["pbs"].get_pbs_conf = lambda: {"PBS_HOME": home}
    with open(home + "/mom_priv/hooks/hook_data/8.s", "w", encoding="utf-8") as f:
        f.write('{"device_names": ["nvid')
    ok(hook.names_of_gpus("8.s") == "" and "job 8.s: its GPUs are not measured" in said[0], "a file that cannot be read is logged, and stops no job")
    ok(hook.names_of_gpus("../hook_data/7[3].s") == "", "an id is no path")
    attributes = {"euser": "root", "queue": "gpu", "project": "_pbs_project_default", "Account_Name": "physics", "exec_host": "n1/0*4+n2/0*4+n3/0*4"}
    attributes["exec_vnode"] = "(n1[0]:ncpus=2:cards=1+n1[1]:ncpus=2:cards=2)+(n2:ncpus=4)+(n3:ncpus=4:cards=4)"
    three = types.SimpleNamespace(id="7[3].s", Resource_List={"ncpus": 12, "cards": 7}, run_count=1, in_ms_mom=lambda: 0, **attributes)
    asked = [hook.describe(three, hook.read_site('{"gpu_resource": "cards"}'), h) for h in ("n1", "n2", "n3")]
    ok([q["ngpus"] for q in asked] == [3, 0, 4] and {q["job_ngpus"] for q in asked} == {7}, "each node is asked about with its own GPUs and those of all")
    ok([q["gpus"] for q in asked] == ["nvidia2", "", "nvidia2"], "and with their names, where it has some")
    ok({(q["job_ncpus"], q["nodes"]) for q in asked} == {(12, 3)}, "the cores of the job are those of all its chunks")
    ok({q["first"] for q in asked} == {False}, "a node that is not the job's first is said to be none")

# ---- events that were forged ----
LINES = b'pbs.event().progname=/bin/bash\npbs.event().argv[0]=-bash\npbs.event().env="""A=1"""\npbs.event().job.id=7.s\npbs.event().type=execjob_launch\n'
whole = types.SimpleNamespace(env={"A": "1"}, progname="/bin/bash")


def damage(event, text):
    try:
        return hook.check_event(event, text)
    except hook.Damaged as x:
        return str(x)


ok(damage(whole, LINES) is None, "an event as pbs_mom writes it is not damaged")
ok("has no env" in str(damage(types.SimpleNamespace(progname="x"), LINES)), "an event without env is damaged")
ok("has no progname" in str(damage(types.SimpleNamespace(env={"A": "1"}), LINES)), "an event without progname is damaged")
ok("job.id twice" in str(damage(whole, LINES.replace(b"=-bash", b"=-bash\npbs.event().job.id=8.s"))), "an argument that looks like the job's id is damage")


def record(name, res, value):
    texts = [name + b"\0", res + b"\0" if res else b"", value + b"\0"]
    sizes = [len(t) for t in texts]
    return b"p" * 72 + struct.pack("5i", 96 + sum(sizes), *sizes, 0) + b"\0" * 4 + b"".join(texts)


END = b"\0" * 72 + struct.pack("i", -711) + b"\0" * 20
saved = b"head" * 100 + record(b"Account_Name", b"", b"x\npbs.event().job.Resource_List[vmem]=64gb") + record(b"Resource_List", b"ncpus", b"2") + END
kept = hook.MomJob("7.s", saved)
ok(kept.Resource_List == {"ncpus": "2"}, "pbs_mom's file of a job has the resources that it requested, and none that its account's name imitates")
ok(hook.resource_of(kept, "vmem") is None, "a resource that was not requested is none")
ok("no attributes" in error(hook.MomJob, "7.s", saved[:-50]), "a file that is cut off is refused")
ok("pbs_server has not checked" in error(hook.check_mark, kept, {"mark_resource": "reeve_checked"}), "a job without the mark of the submission hook is refused")
kept.Resource_List["reeve_checked"] = "1"
ok(hook.check_mark(kept, {"mark_resource": "reeve_checked"}) is None, "a job with the mark is not")


def texts(**attributes):
    return error(hook.check_texts, types.SimpleNamespace(**attributes))


for name in ("Account_Name", "Job_Name", "project", "Submit_arguments"):
    ok("%s has a line break" % name in texts(**{name: "x\npbs.event().foo=1"}), "a line break in %s is refused at submission" % name)
ok("resource place" in texts(Resource_List={"place": "a\nb"}), "a line break in a resource is refused at submission")
ok("a variable of the environment" in texts(Variable_List='A=x"""\nB'), "a variable with a line that ends with three quotes is refused at submission")
ok("a variable of the environment" in texts(Variable_List="A=x\npbs.event().foo=1"), "a variable with a line that begins with pbs. is refused at submission")
ok(texts(Variable_List="A=two\nlines,B=\"quoted\",C=\u00fc", Account_Name="physics") == "None", "other variables with line breaks, quotes and UTF-8 are not")
chunks = {"exec_host": "n1/0+n2/0", "exec_vnode": "(n1:ncpus=1)+(n2:ncpus=1)"}
split = types.SimpleNamespace(Resource_List={"select": "1:vmem=100mb+1:vmem=400mb"}, **chunks)
ok("resources: of sched_config" in error(hook.check_shares, split, "vmem", hook.split_chunks(chunks["exec_vnode"]), 2), "shares that the scheduler did not write are refused, not guessed")

site = hook.read_site('{"max_vmem": "1gb", "unguarded": "run"}')
ok(site["max_vmem"] == G and site["default_vmem"] == 0 and site["unguarded"] == "run", "a configuration")
ok("above this site's bound of 1gb" in error(hook.check_bound, site, "vmem", 2 * G), "an amount above the bound")
ok(hook.check_bound(site, "jobfs", 2 * G) == 2 * G, "without a bound any amount")
ok("'maxvmem' is no word" in error(hook.read_site, '{"maxvmem": "1gb"}'), "an unknown word of the configuration")
ok("must be refuse or run" in error(hook.read_site, '{"unguarded": "perhaps"}'), "an unknown choice")
ok("no amount" in error(hook.read_site, '{"max_vmem": "big"}'), "an amount that is none")
ok("no JSON object" in error(hook.read_site, "[]"), "another document")
os.environ["PBS_HOOK_CONFIG_FILE"] = "/nowhere"
broken = hook.load_site()
ok(broken[0]["unguarded"] == "refuse" and "/nowhere" in broken[1], "a configuration that cannot be read lets nothing run unguarded")


def job(**attributes):
    return types.SimpleNamespace(**attributes)


def agent(path, answers, after_s=0):
    """Takes a connection for each of `answers`: its text is sent; "": it is killed before it answers."""

    def serve():
        time.sleep(after_s)
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as s:
            s.bind(path)
            s.listen()
            for text in answers:
                peer, _ = s.accept()
                peer.recv(8192)
                peer.send(text.encode()) if text else None
                peer.close()
        os.unlink(path)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    while not after_s and not os.path.exists(path):
        time.sleep(0.01)
    return thread


def asks(path, patience_s=5):
    try:
        return hook.ask({"socket": path}, "launch", {}, patience_s)["verdict"]
    except hook.NoAgent as x:
        return str(x)


GO = '{"version": %d, "verdict": "go"}' % hook.VERSION
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "pbs.sock")
    begun = time.monotonic()
    ok("systemctl status reeve-agent" in asks(path) and time.monotonic() - begun < 4, "an agent that was stopped is not waited for")
    os.mkdir(os.path.join(folder, "service"))
    thread = agent(path, [GO], 0.5)
    ok(asks(path) == "go", "one that is restarted is")
    thread.join()
    begun = time.monotonic()
    ok("Engine = pbs in agent.conf?" in asks(path, 1) and time.monotonic() - begun >= 1, "for a time")
    thread = agent(path, ["", "", GO])
    ok(asks(path) == "go", "what was asked of one that was killed is asked again")
    thread.join()
    thread = agent(path, [""] * hook.ASK_TRIES)
    ok("it closed the connection" in asks(path), "but not for ever")
    thread.join()
    thread = agent(path, ["{"])
    ok("gave no answer" in asks(path), "nor where the answer is none")
    thread.join()

ok(hook.wait_status(job(Exit_status=0)) == 0 and hook.wait_status(job(Exit_status=3)) == 3 << 8, "exit statuses")
ok(hook.wait_status(job(Exit_status=265)) == 9, "a signal")
ok(hook.wait_status(job(Exit_status=-3)) == -1 and hook.wait_status(job()) == -1, "a job that did not run has none")
ok("exceeded walltime" in hook.end_text(job(Exit_status=-29)) and "queued it again" in hook.end_text(job(Exit_status=-11)), "negative exit statuses of PBS have their meaning")
ok("-99" in hook.end_text(job(Exit_status=-99)) and hook.end_text(job(Exit_status=0)) == hook.end_text(job(Exit_status=271)) == "", "an unknown one is named, and no other is PBS's")
deleted = []
for status, first in ((0, 1), (137, 1), (0, 0)):
    hook.delete_ended(job(Exit_status=status, in_ms_mom=lambda: first, delete=lambda: deleted.append(status)))
ok(deleted == [0], "a job that a limit has ended does not keep exit status 0")
ok(hook.name_of(job(id="7.s", run_version=2, run_count=5)) == {"id": "7.s", "run": 2}, "the attempt is run_version")
print("1..%d" % count)
sys.exit(bad > 0)
