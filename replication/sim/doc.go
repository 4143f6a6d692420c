// Package sim plays a cluster of replication machines against faults, one seed
// at a time, and looks at every invariant after every event.
//
// What is real: the machines, the rules and the elections of package replication.
// What is modelled: logs and disks, the network, ZooKeeper, the shell of broker
// and controller around the machines, and clients. All of it is one goroutine
// with one source of chance and one queue of things to happen, so that a seed
// replays exactly; a run costs milliseconds.
//
// A seed expands to Options: a random half of the kinds of fault, how often they
// come, timings and settings. In a safe run faults stay within what the settings
// promise to survive (tolerance.go) and nothing acknowledged may be lost; an
// unsafe run exceeds it on purpose. After the faults everything heals, and the
// cluster must come to rest in bounded time with equal logs.
package sim
