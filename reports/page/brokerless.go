package page

import "tidemark/reports/dataset"

// brokerless reports whether a cell ran against something else than a broker where its
// base had one: the server that discards, say. What it differs by is the room there is,
// and no choice that a broker leaves.
func brokerless(e *dataset.Experiment, c *dataset.Cell) bool {
	return e.Base != nil && hasBroker(e.Base) && !hasBroker(c)
}

func hasBroker(c *dataset.Cell) bool { return c.Target != "memory" && c.Target != "none" }

// limitOnly stands beside the name of a brokerless cell.
const limitOnly = "no broker: a limit"

// limitFirst opens a sentence on brokerless cells.
const limitFirst = "No broker, so a limit and no choice: "
