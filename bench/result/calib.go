package result

// Calib is calib.json: what this machine can do without any broker, taken in the
// same invocation as the figures that are divided by it.
type Calib struct {
	Schema   string  `json:"schema"`
	TakenUTC string  `json:"taken_utc"`
	Env      string  `json:"env"` // Env.Comparable
	Dir      string  `json:"dir"`
	Seconds  float64 `json:"seconds"`
	Limits   []Limit `json:"limits"`
}

// Limit is one measured ceiling: the median of Samples, with the extremes.
type Limit struct {
	ID   string `json:"id"`
	What string `json:"what"`
	// Unit is bytes_per_s, ns, or per_s.
	Unit string `json:"unit"`
	// Value is the median; where a limit was taken in several ways, all of these are
	// of the best.
	Value   float64 `json:"value"`
	Low     float64 `json:"low"`
	High    float64 `json:"high"`
	Samples int     `json:"samples"`
	// P99 is set for latencies (unit ns); it is the median of the samples'.
	P99 float64 `json:"p99,omitempty"`
	// Unavailable says why the limit could not be taken; Value is then 0.
	Unavailable string `json:"unavailable,omitempty"`
}

// Identities of the limits, one list for all ratios.
const (
	LimitWrite16K         = "write.16KiB"
	LimitWrite64K         = "write.64KiB"
	LimitWrite1M          = "write.1MiB"
	LimitSync4K           = "fdatasync.4KiB"
	LimitSync64K          = "fdatasync.64KiB"
	LimitSync1M           = "fdatasync.1MiB"
	LimitGroup1           = "group.1"
	LimitGroup5           = "group.5"
	LimitGroup8           = "group.8"
	LimitGroup40          = "group.40"
	LimitGroup64          = "group.64"
	LimitMmapCold         = "mmap.cold"
	LimitMmapFaulted      = "mmap.prefaulted"
	LimitDirect1M         = "direct.1MiB"
	LimitMemcpy           = "memcpy"
	LimitCRC32C           = "crc32c"
	LimitLoopback16K      = "loopback.16KiB"
	LimitLoopback64K      = "loopback.64KiB"
	LimitLoopback1M       = "loopback.1MiB"
	LimitStore16K         = "store.16KiB"
	LimitStore64K         = "store.64KiB"
	LimitStore1M          = "store.1MiB"
	LimitSendfileRead     = "sendfile.read"
	LimitSendfileDiscard  = "sendfile.discard"
	LimitCopyDiscard      = "copy.discard"
	LimitMappedDiscard    = "mapped.discard"
	LimitPingTight        = "pingpong.tight"
	LimitPingPaced        = "pingpong.paced"
	LimitPingOpen         = "pingpong.open"
	LimitTimerOvershoot   = "timer.overshoot"
	LimitPacerOvershoot   = "timer.pacer"
	LimitGzipCompress     = "gzip.compress"
	LimitGzipDecompress   = "gzip.decompress"
	LimitSnappyCompress   = "snappy.compress"
	LimitSnappyDecompress = "snappy.decompress"
	LimitLZ4Compress      = "lz4.compress"
	LimitLZ4Decompress    = "lz4.decompress"
	LimitZstdCompress     = "zstd.compress"
	LimitZstdDecompress   = "zstd.decompress"
)

// Units of a limit.
const (
	UnitBytesPerS = "bytes_per_s"
	UnitNs        = "ns"
	UnitPerS      = "per_s"
)

// Get returns the limit of an identity; ok is false when it is missing or could
// not be taken. A nil Calib has none.
func (c *Calib) Get(id string) (l Limit, ok bool) {
	if c == nil {
		return Limit{}, false
	}
	for _, l := range c.Limits {
		if l.ID == id && l.Unavailable == "" && l.Value > 0 {
			return l, true
		}
	}
	return Limit{}, false
}
