#!/usr/bin/env python3
"""mutate.py [-n N] [--seed S] [--least PERCENT] [FILE...] - do the unit tests notice a changed sign?

Changes one operator, number or return value at a time in the pure rooms (or in FILE...), links the unit tests that name the object in
tests/unit/links.mk with the changed one, and runs them. A mutant that every one of them passes has survived: it is printed with
its line. Nothing in the tree is written but below build/mutation. TAP; exit 1 where fewer than PERCENT (92) die.
"""
import argparse, collections, os, random, re, subprocess, sys

ROOMS = ["common/model", "agent/admit", "controller/policy", "controller/scheduler", "controller/simulate", "controller/history"]
OUT = "build/mutation"
TESTS_MOST = 8  # of an object that many tests link: those that link the fewest others
TEST_SECONDS = 60

SWAPS = {"<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"], "+": ["-"], "-": ["+"],
         "*": ["/"], "/": ["*"], "%": ["*"], "+=": ["-="], "-=": ["+="], "++": ["--"], "--": ["++"], "!": [""], "&": ["|"], "|": ["&"],
         "<<": [">>"], ">>": ["<<"]}
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|^[ \t]*#(?:\\\n|[^\n])*'
                   r'|[A-Za-z_]\w*|0[xX][0-9a-fA-F]+\w*|\d[\w.]*|->|\+\+|--|<<=|>>=|[-+*/%&|^<>=!]=|<<|>>|&&|\|\||\.\.\.|\s+|.', re.S | re.M)
WORD = re.compile(r"[A-Za-z_]\w*$")


class Mutant:
    def __init__(self, path, at, old, new, text):
        self.path, self.at, self.old, self.new = path, at, old, new
        self.line = text.count("\n", 0, at) + 1
        begin, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
        self.before = text[begin:end].strip()
        self.after = (text[begin:at] + new + text[at + len(old):end]).strip()
        self.text = text[:at] + new + text[at + len(old):]

    def __str__(self):
        return f"{self.path}:{self.line}: {self.before}   ->   {self.after}"


def is_binary(before):
    """Does an operator after this token have a left operand?"""
    return bool(before) and (before[-1] in ")]" or WORD.match(before) is not None and before not in ("return", "case", "sizeof") or before[0].isdigit())


def find_mutants(path):
    """Inside of functions alone: not in declarations, tables, preprocessor lines, comments or texts."""
    text, depth, function, before, found = open(path, encoding="utf-8").read(), 0, False, "", []
    skip_to_semicolon = False
    for m in TOKEN.finditer(text):
        t, at = m.group(), m.start()
        if t.isspace() or t.startswith(("/*", "//")) or t.lstrip().startswith("#"):
            continue
        if t == "{":
            if depth == 0:
                function = before == ")"
            depth += 1
        elif t == "}":
            depth -= 1
        elif depth and function:
            if t == "static":  # a table
                skip_to_semicolon = True
            if skip_to_semicolon:
                skip_to_semicolon = t != ";"
            elif t in SWAPS and (is_binary(before) or t in ("!", "++", "--")) and not (t == "*" and is_pointer(text, m)):
                found += [Mutant(path, at, t, new, text) for new in SWAPS[t]]
            elif re.fullmatch(r"\d+", t) and before != "[" and before != "case":
                found.append(Mutant(path, at, t, str(int(t) + 1), text))
            elif t == "return":
                end = text.index(";", at)
                value = text[at + 6:end].strip()
                if value not in ("", "0", "NULL", "false"):
                    found.append(Mutant(path, at, text[at:end], "return 0", text))
        before = t
    return found


def is_pointer(text, m):
    """`struct job *j`: a declaration, not a product, by its spacing."""
    return text[m.start() - 1] in " (" and not text[m.end():m.end() + 1].isspace()


def run(command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", **more)


def read_tests():
    """The unit tests of each object, and the command that links each test."""
    of_object, links = collections.defaultdict(list), {}
    said = run(["make", "-n", "-B", "--no-print-directory", "-j1", "V=1", "unit-tests"]).stdout
    for line in said.replace("\\\n", " ").splitlines():
        made = re.search(r"-o (build/tests/unit/(test_\w+)) ", line)
        if made:
            objects = [w for w in line.split() if w.endswith(".o")]
            links[made.group(2)] = line
            for o in objects:
                of_object[o].append((len(objects), made.group(2)))
    if not links:
        sys.exit(f"mutate.py: make names no unit tests:\n{said[-2000:]}")
    return {o: [t for _, t in sorted(tests)] for o, tests in of_object.items()}, links


def compile_object(mutant, to):
    source = f"{OUT}/{os.path.basename(mutant.path)}"
    with open(source, "w", encoding="utf-8") as f:
        f.write(mutant.text)
    return run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O1", "-w", "-fPIE", "-I.", "-Ibuild", "-c", source, "-o", to]).returncode == 0


def passes(test, links, old, new):
    """With the changed object in place of its own. Too long counts as noticed."""
    program = f"{OUT}/{test}"
    command = links[test].replace(f" {old} ", f" {new} ").replace(f" -o build/tests/unit/{test} ", f" -o {program} ")
    linked = run(["sh", "-c", command])
    if linked.returncode:
        sys.exit(f"mutate.py: {test} does not link:\n{linked.stdout[-2000:]}")
    try:
        return run([program], timeout=TEST_SECONDS, stdin=subprocess.DEVNULL).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def try_mutant(mutant, tests, links, sound):
    """None: it does not compile. Else the test that noticed, or "". `sound`: of each test, whether it passes the code as it is."""
    old, new = f"build/{mutant.path[:-2]}.o", f"{OUT}/mutant.o"
    if not compile_object(mutant, new):
        return None
    for t in tests[old][:TESTS_MOST]:
        if t not in sound:
            sound[t] = passes(t, links, old, old)
            if not sound[t]:
                sys.exit(f"mutate.py: {t} fails without any change: mend it first")
        if not passes(t, links, old, new):
            return t
    return ""


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-n", type=int, default=100, help="mutants to try (100)")
    p.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    p.add_argument("--least", type=float, default=92, help="percent that must die (92)")
    p.add_argument("files", nargs="*", metavar="FILE")
    a = p.parse_args()
    os.chdir(os.path.dirname(os.path.abspath(__file__)) + "/../..")
    os.makedirs(OUT, exist_ok=True)
    if run(["make", "-s", "--no-print-directory", "all", "unit-tests"]).returncode:
        sys.exit("mutate.py: the tree does not build")
    tests, links = read_tests()
    files = a.files or sorted(os.path.join(d, f) for room in ROOMS for d, _, fs in os.walk(room) for f in fs if f.endswith(".c"))
    unlinked = [f for f in files if f"build/{f[:-2]}.o" not in tests]
    mutants = [m for f in files if f not in unlinked for m in find_mutants(f)]
    print(f"# seed {a.seed}: {a.n} of {len(mutants)} mutants in {len(files) - len(unlinked)} files; {len(unlinked)} files that no unit test links")
    random.Random(a.seed).shuffle(mutants)
    tried, survivors, sound = 0, [], {}
    for m in mutants:
        if tried == a.n:
            break
        noticed = try_mutant(m, tests, links, sound)
        if noticed is None:
            continue
        tried += 1
        if not noticed:
            survivors.append(m)
            print(f"# survived: {m}", flush=True)
        elif sys.stderr.isatty():
            print(f"\r{tried}/{a.n}", end="", file=sys.stderr, flush=True)
    died = 100 * (tried - len(survivors)) / max(tried, 1)
    good = tried > 0 and died >= a.least
    print(f"{'' if good else 'not '}ok 1 - the unit tests notice {died:.1f} % of {tried} changed signs, at least {a.least:g} %\n1..1")
    sys.exit(not good)


if __name__ == "__main__":
    main()
