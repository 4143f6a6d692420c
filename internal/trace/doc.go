// Package trace is what happened inside brokers as a sequence of typed events:
// appends, fetches, high watermarks, ISR changes, leaders, truncations, znodes,
// faults, and the verdicts of those who check. Brokers, the simulator and the
// fault suite write the same events; trace.jsonl (schema/trace-v1.json) holds
// them one a line, and golden tests print them as text.
//
// An event is one flat struct and is written without allocation. A nil *Tracer
// is a tracer that is off: it costs a comparison. The package reads no clock and
// decides nothing: times are arguments.
package trace
