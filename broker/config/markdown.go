package config

import (
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
)

// WriteMarkdown writes docs/reference/config.md.
func WriteMarkdown(w io.Writer) error {
	out := []byte("# Configuration\n\n" +
		"Generated from the tables in `broker/config`; `make docs` writes it again.\n\n" +
		"`tidemark broker` reads a `server.properties` with `--config` and single settings with `--set name=value`, " +
		"which win; `--print-config` shows the effective configuration with the source of each value. " +
		"Topic settings are given at `tidemark topics create --config name=value` or through any Kafka admin client; " +
		"where a topic has none the broker's setting counts. " +
		"A name that is not on this page is refused, with the nearest right one.\n")
	out = section(out, "Broker", brokerDefs, brokerRow)
	out = section(out, "Topic", topicDefs, topicRow)
	cleaner, cleanerTopic := apart(cleanerDefs)
	out = section(out, "Compaction, broker", cleaner, brokerRow)
	out = section(out, "Compaction, topic", cleanerTopic, topicRow)
	out = section(out, "Consumer groups", groupDefs, brokerRow)
	out = section(out, "Transactions", transactionDefs, brokerRow)
	replication, replicationTopic := apart(replicationDefs)
	out = section(out, "Replication, broker", replication, brokerRow)
	out = section(out, "Replication, topic", replicationTopic, topicRow)
	own, ownTopic := apart(slices.Concat(ownDefs, ownReplicationDefs))
	out = append(out, "\n# Our own names\n\nApache Kafka does not have these.\n"...)
	out = section(out, "Broker, our own", own, brokerRow)
	out = section(out, "Topic, our own", ownTopic, topicRow)
	out = append(out, "\n# Known and without effect\n\nThese names of Kafka's are accepted with a warning.\n\n"...)
	out = reasons(out, unserved)
	out = append(out, "\nAs topic settings they are kept, and described back, without effect:\n\n"...)
	out = reasons(out, unservedTopic)
	out = append(out, "\n# Refused\n\nWhoever sets these relies on them for safety.\n\n"...)
	out = reasons(out, refused)
	_, err := w.Write(out)
	return err
}

// apart splits rows into those of brokers and those that topics have too.
func apart(defs []Def) (broker, topic []Def) {
	for _, d := range defs {
		if d.TopicName != "" {
			topic = append(topic, d)
		} else {
			broker = append(broker, d)
		}
	}
	return broker, topic
}

func section(out []byte, title string, defs []Def, row func([]byte, Def) []byte) []byte {
	out = fmt.Appendf(out, "\n## %s\n\n| name | default | type | valid | what it does |\n|--|--|--|--|--|\n", title)
	for _, d := range defs {
		out = row(out, d)
	}
	return out
}

func brokerRow(out []byte, d Def) []byte {
	return appendRow(out, append([]string{d.Name}, otherNames(d)...), d)
}

func topicRow(out []byte, d Def) []byte {
	names := []string{d.TopicName}
	if d.Name != d.TopicName {
		names = append(names, d.Name)
	}
	return appendRow(out, append(names, otherNames(d)...), d)
}

func otherNames(d Def) []string {
	var names []string
	for _, o := range d.Others {
		names = append(names, o.Name)
	}
	return names
}

// appendRow shows the first name in bold, the others below it.
func appendRow(out []byte, names []string, d Def) []byte {
	out = fmt.Appendf(out, "| **`%s`**", names[0])
	for _, n := range names[1:] {
		out = fmt.Appendf(out, "<br>`%s`", n)
	}
	value := "unset"
	if d.Default != "" {
		value = "`" + d.Default + "`"
	}
	doc := d.Doc
	if d.TopicName == "" && d.Dynamic {
		doc += " Can change while the broker runs."
	}
	return fmt.Appendf(out, " | %s | %s | %s | %s |\n", value, strings.ToLower(string(d.Kind)), d.Valid, doc)
}

// reasons lists names grouped by why they are on the list.
func reasons(out []byte, names map[string]string) []byte {
	byReason := map[string][]string{}
	for name, reason := range names {
		byReason[reason] = append(byReason[reason], "`"+name+"`")
	}
	var order []string
	for reason := range byReason {
		order = append(order, reason)
		sort.Strings(byReason[reason])
	}
	sort.Strings(order)
	for _, reason := range order {
		lead := reason
		if lead == "" {
			lead = "without a counterpart"
		}
		out = fmt.Appendf(out, "- %s: %s\n", lead, strings.Join(byReason[reason], ", "))
	}
	return out
}
