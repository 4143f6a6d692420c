"""Kazoo's basic operations and recipes against the server at argv[1]."""
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, NodeExistsError, NoNodeError, RolledBackError

one, two = KazooClient(sys.argv[1]), KazooClient(sys.argv[1])
one.start(timeout=10)
two.start(timeout=10)
assert one.server_version()[0] == 3

one.ensure_path("/kazoo/deep/path")
one.create("/kazoo/a", b"1", include_data=True)
assert one.create("/kazoo/s-", sequence=True) == "/kazoo/s-0000000002"
data, stat = two.get("/kazoo/a")
assert (data, stat.version) == (b"1", 0)
for call, error in (
    (lambda: one.create("/kazoo/a"), NodeExistsError),
    (lambda: one.set("/kazoo/a", b"x", version=7), BadVersionError),
    (lambda: one.get("/kazoo/none"), NoNodeError),
):
    try:
        call()
    except error:
        continue
    raise AssertionError("no %s" % error)

transaction = one.transaction()
transaction.create("/kazoo/t", b"t")
transaction.check("/kazoo/a", version=3)
results = transaction.commit()
assert isinstance(results[0], RolledBackError) and isinstance(results[1], BadVersionError), results

seen, changed = [], threading.Event()


@two.DataWatch("/kazoo/a")
def watch(data, stat):
    seen.append(data)
    if data == b"3":
        changed.set()


one.set("/kazoo/a", b"2")
one.set("/kazoo/a", b"3")
assert changed.wait(10) and seen[-1] == b"3", seen

with one.Lock("/kazoo/lock", "one"):
    assert two.Lock("/kazoo/lock", "two").contenders() == ["one"]
counter = two.Counter("/kazoo/counter")
counter += 2
counter -= 1
assert one.Counter("/kazoo/counter").value == 1
queue = one.Queue("/kazoo/queue")
queue.put(b"first")
queue.put(b"second")
assert (two.Queue("/kazoo/queue").get(), two.Queue("/kazoo/queue").get()) == (b"first", b"second")
elected = []
one.Election("/kazoo/election", "one").run(lambda: elected.append("one"))
assert elected == ["one"]

# A lock goes to who waits for it when the holder's session ends, and so does an office.
three = KazooClient(sys.argv[1])
three.start(timeout=10)
held = three.Lock("/kazoo/handed", "three")
assert held.acquire(timeout=10)
got = threading.Event()


def wait_for_lock():
    with two.Lock("/kazoo/handed", "two"):
        got.set()


in_office, in_line, resign = threading.Event(), threading.Event(), threading.Event()


def rule():
    in_office.set()
    resign.wait(30)


threads = [
    threading.Thread(target=wait_for_lock, daemon=True),
    threading.Thread(target=three.Election("/kazoo/office", "three").run, args=(lambda: resign.wait(30),), daemon=True),
]
for thread in threads:
    thread.start()
election = two.Election("/kazoo/office", "two")


def until(what):
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("not in time")


until(lambda: election.contenders() == ["three"])
threads.append(threading.Thread(target=election.run, args=(rule,), daemon=True))
threads[-1].start()
until(lambda: election.contenders() == ["three", "two"])
until(lambda: len(two.get_children("/kazoo/handed")) == 2)
assert not got.is_set() and not in_office.is_set()

children, complete = [], threading.Event()


@two.ChildrenWatch("/kazoo/handed")
def members(names):
    children.append(len(names))
    if children[-1] == 0:
        complete.set()


three.stop()
assert got.wait(20) and in_office.wait(20) and complete.wait(20), (got, in_office, children)
assert children[0] == 2, children
resign.set()
for thread in (threads[0], threads[2]):  # the other waits for a client that is gone
    thread.join(20)
three.close()

party = one.Party("/kazoo/party", "one")
party.join()
assert list(two.Party("/kazoo/party")) == ["one"]

one.create("/kazoo/mine", ephemeral=True)
one.stop()  # a kazoo that has just read an answer ends without a word: its session expires
until(lambda: not two.exists("/kazoo/mine"))
until(lambda: list(two.Party("/kazoo/party")) == [])
two.delete("/kazoo", recursive=True)
two.stop()
one.close()
two.close()
print("done")
