package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"tidemark/broker/api"
)

// describedGroup is one group of `groups describe`.
type describedGroup struct {
	Group    string `json:"group"`
	State    string `json:"state"`
	Protocol string `json:"protocol,omitempty"`
	// Generation and InStateMs come from our own brokers only.
	Generation *int32            `json:"generation,omitempty"`
	InStateMs  *int64            `json:"in_state_ms,omitempty"`
	Pending    int32             `json:"pending_members,omitempty"`
	Members    []describedMember `json:"members"`
	Offsets    []groupOffset     `json:"offsets,omitempty"`
}

type describedMember struct {
	Member   string `json:"member"`
	Instance string `json:"instance,omitempty"`
	Client   string `json:"client"`
	Host     string `json:"host"`
	// WaitedFor says that the group's rebalance waits for this member.
	WaitedFor  bool                 `json:"waited_for"`
	SilentMs   *int64               `json:"silent_ms,omitempty"`
	Partitions map[string]([]int32) `json:"partitions,omitempty"`
}

type groupOffset struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// Committed and Lag are -1 where nothing is committed.
	Committed int64  `json:"committed"`
	End       int64  `json:"log_end_offset"`
	Lag       int64  `json:"lag"`
	Member    string `json:"member,omitempty"`
}

func newGroupsDescribeCommand(app *App, f *clientFlags) *cobra.Command {
	var watch bool
	var interval time.Duration
	c := &cobra.Command{
		Use:   "describe GROUP…",
		Short: "Show state, members, offsets and lag of groups; with --watch, follow them",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return f.client(c.Context(), func(ctx context.Context, client *kgo.Client) error {
				if watch {
					return watchGroups(ctx, app, client, args, interval)
				}
				ctx, cancel := context.WithTimeout(ctx, f.timeout)
				defer cancel()
				var groups []describedGroup
				admin := kadm.NewClient(client)
				err := coordinated(ctx, admin, args, func() (err error) {
					if groups, err = describeGroups(ctx, client, args); err == nil {
						err = addOffsets(ctx, admin, groups)
					}
					return err
				})
				if err != nil {
					return noGroup(ctx, admin, args, err)
				}
				return app.Print(groups, func(w io.Writer) error { return printGroups(w, groups) })
			})
		},
	}
	c.Flags().BoolVar(&watch, "watch", false, "print a line for each change of state, generation and members, until interrupted")
	c.Flags().DurationVar(&interval, "interval", 200*time.Millisecond, "how often --watch looks")
	return c
}

// noGroup adds to a broker's error that it does not have one of the groups which was
// meant.
func noGroup(ctx context.Context, admin *kadm.Client, names []string, err error) error {
	if !errors.Is(err, kerr.GroupIDNotFound) {
		return err
	}
	all, listed := admin.ListGroups(ctx)
	if listed != nil { // the first error counts
		return err
	}
	for _, name := range names {
		if _, ok := all[name]; !ok {
			return fmt.Errorf("%w%s", err, meant(name, all.Groups(), "groups"))
		}
	}
	return err
}

// describeGroups asks in the protocol itself, because kadm drops the fields that
// only our brokers send. Groups of the newer protocol have a request of their own.
func describeGroups(ctx context.Context, client *kgo.Client, names []string) ([]describedGroup, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = names
	found := map[string]describedGroup{}
	var others []string
	for _, shard := range client.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, fmt.Errorf("describe groups: %w", shard.Err)
		}
		resp := shard.Resp.(*kmsg.DescribeGroupsResponse)
		for i := range resp.Groups {
			g := &resp.Groups[i]
			err := kerr.ErrorForCode(g.ErrorCode)
			switch {
			case g.State == "Dead", errors.Is(err, kerr.GroupIDNotFound):
				others = append(others, g.Group)
			case err != nil:
				return nil, fmt.Errorf("describe group %s: %w", g.Group, err)
			default:
				found[g.Group] = describeGroup(g)
			}
		}
	}
	if err := describeConsumers(ctx, client, others, found); err != nil {
		return nil, err
	}
	var groups []describedGroup
	for _, name := range names {
		g, ok := found[name]
		if !ok {
			return nil, fmt.Errorf("describe group %s: the broker said nothing about it", name)
		}
		groups = append(groups, g)
	}
	return groups, nil
}

func describeGroup(g *kmsg.DescribeGroupsResponseGroup) describedGroup {
	d := describedGroup{Group: g.Group, State: g.State, Protocol: g.Protocol, Members: []describedMember{}}
	if detail, ok := api.GroupDetailOf(g); ok {
		ms := detail.InState.Milliseconds()
		d.Generation, d.InStateMs, d.Pending = &detail.Generation, &ms, detail.Pending
	}
	for i := range g.Members {
		m := &g.Members[i]
		row := describedMember{Member: m.MemberID, Client: m.ClientID, Host: m.ClientHost}
		if m.InstanceID != nil {
			row.Instance = *m.InstanceID
		}
		if detail, ok := api.MemberDetailOf(m); ok {
			ms := detail.Silent.Milliseconds()
			row.SilentMs = &ms
			row.WaitedFor = g.State == "PreparingRebalance" && !detail.Joining || g.State == "CompletingRebalance" && !detail.Syncing
		}
		var assigned kmsg.ConsumerMemberAssignment
		if g.ProtocolType == "consumer" && assigned.ReadFrom(m.MemberAssignment) == nil {
			row.Partitions = map[string][]int32{}
			for _, t := range assigned.Topics {
				row.Partitions[t.Topic] = append(row.Partitions[t.Topic], t.Partitions...)
			}
		}
		d.Members = append(d.Members, row)
	}
	return d
}

// addOffsets adds what is committed, how far it is behind, and who reads it.
func addOffsets(ctx context.Context, admin *kadm.Client, groups []describedGroup) error {
	for i := range groups {
		g := &groups[i]
		committed, err := admin.FetchOffsets(ctx, g.Group)
		if err != nil {
			return fmt.Errorf("offsets of group %s: %w", g.Group, err)
		}
		readers := map[string]map[int32]string{}
		topics := kadm.TopicsSet{}
		for _, m := range g.Members {
			for topic, partitions := range m.Partitions {
				topics.Add(topic, partitions...)
				for _, p := range partitions {
					if readers[topic] == nil {
						readers[topic] = map[int32]string{}
					}
					readers[topic][p] = m.Member
				}
			}
		}
		committed.Each(func(o kadm.OffsetResponse) { topics.Add(o.Topic, o.Partition) })
		if len(topics) == 0 {
			continue
		}
		ends, err := admin.ListEndOffsets(ctx, topics.Topics()...)
		if err != nil {
			return fmt.Errorf("list end offsets: %w", err)
		}
		for _, t := range topics.Sorted() {
			for _, p := range t.Partitions {
				row := groupOffset{Topic: t.Topic, Partition: p, Committed: -1, End: -1, Lag: -1, Member: readers[t.Topic][p]}
				if o, ok := committed.Lookup(t.Topic, p); ok && o.Err == nil {
					row.Committed = o.At
				}
				if o, ok := ends.Lookup(t.Topic, p); ok && o.Err == nil {
					row.End = o.Offset
				}
				if row.Committed >= 0 && row.End >= 0 {
					row.Lag = max(row.End-row.Committed, 0)
				}
				g.Offsets = append(g.Offsets, row)
			}
		}
	}
	return nil
}

func printGroups(w io.Writer, groups []describedGroup) error {
	for i, g := range groups {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintln(w, groupLine(&g))
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		if len(g.Members) > 0 {
			fmt.Fprintln(t, "  MEMBER\tINSTANCE\tCLIENT\tHOST\tPARTITIONS")
			for _, m := range g.Members {
				fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%v\n", m.Member, orDash(m.Instance), orDash(m.Client), m.Host, m.Partitions)
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
		if len(g.Offsets) > 0 {
			fmt.Fprintln(t, "  TOPIC\tPARTITION\tCOMMITTED\tEND\tLAG\tMEMBER")
			for _, o := range g.Offsets {
				fmt.Fprintf(t, "  %s\t%d\t%d\t%d\t%d\t%s\n", o.Topic, o.Partition, o.Committed, o.End, o.Lag, orDash(o.Member))
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
