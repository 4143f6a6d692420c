package workload

import (
	"bytes"
	"fmt"
	"io"
)

// WriteMarkdown writes the reference page of suite files from the table of
// settings.
func WriteMarkdown(w io.Writer) error {
	var b bytes.Buffer
	b.WriteString(pageHead)
	for _, section := range []string{"workload", "client"} {
		fmt.Fprintf(&b, "\n## %s\n\n| property | default | meaning |\n|---|---|---|\n", section)
		for _, s := range Settings {
			if s.Section == section {
				writeSetting(&b, s)
			}
		}
	}
	b.WriteString(trialsHead)
	for _, s := range trialFields {
		writeSetting(&b, s)
	}
	b.WriteString(pageTail)
	_, err := w.Write(b.Bytes())
	return err
}

func writeSetting(b *bytes.Buffer, s Setting) {
	byDefault := "`" + s.Default + "`"
	if s.Default == "" {
		byDefault = ""
	}
	fmt.Fprintf(b, "| `%s` | %s | %s |\n", s.Name, byDefault, s.Doc)
}

const trialsHead = `
## trials

A suite may end with faults, and with what they lose:

` + "```yaml" + `
trials: {of: batches, count: 60, fault: power_cut, rate: 2k/s}
` + "```" + `

The cells of one experiment become topics of one broker, which is put under load,
meets the fault at a random moment, starts again and is read in full. Cells with
` + "`storage.flush`" + ` batch or group must lose nothing that was acknowledged; in a power cut at
least one cell with os is needed, to show that the cut takes something.

| field | default | meaning |
|---|---|---|
`

const pageHead = `# Suite files

Generated from the tables in ` + "`bench/workload`" + `; ` + "`make docs`" + ` writes it again.

A suite is a YAML file of experiments. ` + "`tidemark bench list`" + ` shows those that come
with the program, ` + "`tidemark bench plan FILE`" + ` what a file would run. Reading is
strict: an unknown name is an error with its line, its column and the nearest
known name.

` + "```yaml" + `
apiVersion: bench/v1
name: mine
about: Does a larger batch pay with acks=all?
seed: 42                        # order of the runs, payloads
defaults:                       # for every experiment that does not say otherwise
  blocks: 6
  workload: {partitions: 8}
experiments:
  - name: batches
    workload: {driver: raw, record.size: 1KiB}
    client: {acks: all}
    topic: {storage.append.engine: mapped}   # any topic property
    broker: {queued.max.requests.per.connection: 16}  # any broker property
    matrix:
      design: oneway            # or full, pairwise, list
      aa: true                  # the base cell twice: the noise
      axes:                     # the first value of each is the base cell's
        batch.size: [64KiB, 16KiB, 1MiB]
        topic.compression.type: [producer, lz4]
      exclude: [{batch.size: 1MiB, topic.compression.type: lz4}]
      include: [{linger.ms: 5, driver: franz}]
` + "```" + `

An axis is any property of the tables below or of a topic, under its bare name;
` + "`topic.NAME`, `broker.NAME`, `client.NAME` and `workload.NAME`" + ` reach one that several
have or that is not listed. A name that is nearly a known one is taken for a
typing error.

- A **cell** is one assignment of all properties; its id is a hash of them, so a
  cell keeps its history when labels and neighbours change.
- A **block** is every cell once, in an order shuffled by the seed. Cells are
  compared block by block. Fewer than six blocks allow no verdict.
- A **run** is one cell in one block: a fresh process and a fresh data directory,
  both gone after it.
- A saturating cell (` + "`rate: max`" + `) ends by ` + "`window` or by `bytes`" + `, whichever comes
  first; a quarter of the bytes ends the warm-up. It is labelled *burst* below a
  minute and *sustained* from there on.
- A paced cell sends on an open-loop schedule. A send that could not leave in time
  leaves as soon as it can, and so do those behind it: none is skipped, none is
  moved, and response times count from the intended time. What is still unsent
  when the window ends is counted as dropped.
- ` + "`rate: 50% of NAME`" + ` is half of what the base cell of experiment NAME took, its
  median at the first such run.
`

const pageTail = `
Sizes are ` + "`100B`, `64KiB`, `1MB`, `2GiB`" + ` or a number of bytes; rates ` + "`max`, `10k/s`, `1M/s`" + `
or relative; times ` + "`500ms`, `2s`" + `.
`
