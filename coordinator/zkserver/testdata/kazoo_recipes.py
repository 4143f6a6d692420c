"""Kazoo's basic operations and recipes against the server at argv[1]."""
import sys
import threading

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
party = one.Party("/kazoo/party", "one")
party.join()
assert list(two.Party("/kazoo/party")) == ["one"]

one.create("/kazoo/mine", ephemeral=True)
one.stop()
assert not two.exists("/kazoo/mine")
assert list(two.Party("/kazoo/party")) == []
two.delete("/kazoo", recursive=True)
two.stop()
one.close()
two.close()
print("done")
