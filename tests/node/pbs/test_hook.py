#!/usr/bin/python3
"""test_hook.py - what pbs/reeve.py reads of amounts, chunks and its configuration, without PBS, agent or root: its module `pbs` is empty here. TAP."""
import importlib.util
import os
import sys
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


ok(hook.wait_status(job(Exit_status=0)) == 0 and hook.wait_status(job(Exit_status=3)) == 3 << 8, "exit statuses")
ok(hook.wait_status(job(Exit_status=265)) == 9, "a signal")
ok(hook.wait_status(job(Exit_status=-3)) == -1 and hook.wait_status(job()) == -1, "a job that did not run has none")
ok(hook.name_of(job(id="7.s", run_version=2, run_count=5)) == {"id": "7.s", "run": 2}, "the attempt is run_version")
print("1..%d" % count)
sys.exit(bad > 0)
