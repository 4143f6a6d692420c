package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/spf13/cobra"

	"tidemark/broker/config"
	"tidemark/coordinator/zkserver"
	"tidemark/internal/vfs"
)

func newZkCommand(app *App) *cobra.Command {
	var listen, data, logLevel string
	var allowOpen bool
	var tick time.Duration
	c := &cobra.Command{
		Use:   "zk",
		Short: "Run the embedded metadata store alone; it speaks ZooKeeper's protocol",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			logger, err := newLogger(app.Err, logLevel)
			if err != nil {
				return err
			}
			if _, _, err := net.SplitHostPort(listen); err != nil {
				return Usagef("--listen %s: want host:port", listen)
			}
			if !allowOpen && !config.IsLoopback(listen) {
				return Usagef("--listen %s: not a loopback host:port, and whoever reaches the store rules the cluster: "+
					"pass --allow-open-listener if that is intended", listen)
			}
			if tick <= 0 {
				return Usagef("--tick %s: want more than nothing, as 2s", tick)
			}
			l, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("%w; --listen takes another address, port 0 a free port", err)
			}
			s, err := zkserver.Start(l, zkserver.Options{FS: vfs.OS{}, Dir: data, TickTime: tick, Logger: logger})
			if err != nil {
				return err
			}
			err = announceZk(app, s.Addr().String(), data)
			if err == nil {
				<-c.Context().Done()
			}
			return errors.Join(err, s.Close())
		},
	}
	c.Flags().StringVar(&listen, "listen", "127.0.0.1:2181", "host:port to listen on; port 0 takes a free one")
	c.Flags().StringVar(&data, "data", "tidemark-zk", "directory of the transaction log and the snapshots")
	c.Flags().DurationVar(&tick, "tick", 2*time.Second, "ZooKeeper's tickTime: sessions last between 2 and 20 ticks")
	c.Flags().BoolVar(&allowOpen, "allow-open-listener", false, "permit an address that other machines can reach")
	c.Flags().StringVar(&logLevel, "log-level", "info", "debug, info, warn or error")
	return c
}

func announceZk(app *App, address, data string) error {
	if app.JSON {
		return json.NewEncoder(app.Out).Encode(map[string]string{"listener": address, "data": data})
	}
	_, err := fmt.Fprintf(app.Out, "metadata store on %s, data in %s\nready; Ctrl-C stops it\n", address, data)
	return err
}
