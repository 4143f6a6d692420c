// Package proxy is a mesh of TCP proxies in userspace between brokers, clients and
// the metadata store, whose every pair can be cut, slowed or torn apart on its own
// while a cluster runs. It needs no rights and no kernel module.
//
// # Who is who
//
// Brokers dial one another at the address that each has registered. In a mesh that
// address is a listener of the mesh, one for each broker, so a connection's target
// is known by where it arrives. Its source is known by where it comes from: broker N
// makes its connections from a loopback address of its own (127.0.1.N, its
// socket.bind.address), and whoever comes from elsewhere is a client. The metadata
// store has a listener for each broker, whose zookeeper.connect names it. So every
// pair has rules of its own, clients stay as they are and read ordinary addresses
// from the metadata. Towards the target a connection is made from its source's
// address, so logs and limits there see the true peer.
//
// # Rules
//
// A Rule is a value and belongs to a Flow, the bytes that travel from one name to
// another, whoever opened the connection. Every connection is two flows. A cut is
// both flows of a pair, a one-way cut is one of them.
//
// # What differs from a real network
//
// The kernel accepts before the mesh knows who comes, so under Hang a connect
// succeeds and then there is silence, where a network would let the connect time
// out; and a target that does not listen resets the connection in place of refusing
// it. What the mesh had read when a rule changed still arrives, as packets under way
// would. Under Hang the bytes of a living connection are kept and arrive after the
// heal, as TCP's retransmission has it.
package proxy
