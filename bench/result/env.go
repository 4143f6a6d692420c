package result

// Env is env.json: the machine and the build. An empty string or a zero means
// unknown; Unknown says why.
type Env struct {
	Schema     string `json:"schema"`
	TakenUTC   string `json:"taken_utc"`
	Hostname   string `json:"hostname"`
	Host       string `json:"host"`       // six hex digits that stand for the host in paths
	Comparable string `json:"comparable"` // sha256:… over hardware, kernel and file system

	CPU     EnvCPU     `json:"cpu"`
	Memory  EnvMemory  `json:"memory"`
	Kernel  EnvKernel  `json:"kernel"`
	Disk    EnvDisk    `json:"disk"`
	Network EnvNetwork `json:"network"`
	Limits  EnvLimits  `json:"limits"`
	Build   EnvBuild   `json:"build"`
	Load    EnvLoad    `json:"load"`
	// Advice is what doctor would change, in words.
	Advice []Advice `json:"advice"`
	// Unknown maps a field's path to why it could not be read.
	Unknown map[string]string `json:"unknown"`
}

// EnvCPU describes the processors this process may use.
type EnvCPU struct {
	Model      string  `json:"model"`
	Vendor     string  `json:"vendor"`
	Microcode  string  `json:"microcode"`
	Logical    int     `json:"logical"`
	Cores      int     `json:"cores"`
	MHz        float64 `json:"mhz"`
	Governor   string  `json:"governor"`
	Turbo      string  `json:"turbo"`
	SMT        string  `json:"smt"`
	NUMANodes  int     `json:"numa_nodes"`
	Quota      string  `json:"cgroup_quota"`
	Hypervisor string  `json:"hypervisor"`
	StealRatio float64 `json:"steal_ratio_since_boot"`
}

// EnvMemory describes memory and its policies.
type EnvMemory struct {
	TotalBytes           int64  `json:"total_bytes"`
	AvailableBytes       int64  `json:"available_bytes"`
	SwapBytes            int64  `json:"swap_bytes"`
	CgroupLimit          string `json:"cgroup_limit"`
	TransparentHugePages string `json:"transparent_hugepages"`
	Defrag               string `json:"transparent_hugepages_defrag"`
	Swappiness           string `json:"swappiness"`
	DirtyRatio           string `json:"dirty_ratio"`
	DirtyBackgroundRatio string `json:"dirty_background_ratio"`
	DirtyExpireCs        string `json:"dirty_expire_centisecs"`
	Overcommit           string `json:"overcommit_memory"`
}

// EnvKernel describes the operating system.
type EnvKernel struct {
	OS          string `json:"os"`
	Arch        string `json:"arch"`
	Distro      string `json:"distro"`
	Release     string `json:"release"`
	CmdLine     string `json:"cmdline"`
	ClockSource string `json:"clocksource"`
	Mitigations string `json:"mitigations"`
}

// EnvDisk describes the file system that holds the data directory.
type EnvDisk struct {
	Path       string `json:"path"`
	FileSystem string `json:"filesystem"`
	Device     string `json:"device"`
	Mount      string `json:"mount"`
	Options    string `json:"options"`
	Rotational string `json:"rotational"`
	Scheduler  string `json:"scheduler"`
	Requests   string `json:"nr_requests"`
	WriteCache string `json:"write_cache"`
	TotalBytes int64  `json:"total_bytes"`
	FreeBytes  int64  `json:"free_bytes"`
	// Tmpfs is true where the data directory is memory: no figure there says
	// anything about a disk.
	Tmpfs bool `json:"tmpfs"`
}

// EnvNetwork describes loopback, the path of every local run.
type EnvNetwork struct {
	LoopbackMTU int    `json:"loopback_mtu"`
	RmemMax     string `json:"rmem_max"`
	WmemMax     string `json:"wmem_max"`
	TCPRmem     string `json:"tcp_rmem"`
	TCPWmem     string `json:"tcp_wmem"`
	Congestion  string `json:"tcp_congestion_control"`
}

// EnvLimits are the process's resource limits.
type EnvLimits struct {
	OpenFiles    string `json:"nofile"`
	LockedMemory string `json:"memlock"`
	MapCount     string `json:"max_map_count"`
}

// EnvBuild says which program produced the figures.
type EnvBuild struct {
	Go         string            `json:"go"`
	GOMAXPROCS int               `json:"gomaxprocs"`
	GOGC       string            `json:"gogc"`
	GOMEMLIMIT string            `json:"gomemlimit"`
	Commit     string            `json:"commit"`
	Dirty      bool              `json:"dirty"`
	Binary     string            `json:"binary"` // sha256:…
	Settings   map[string]string `json:"settings"`
	Modules    map[string]string `json:"modules"` // libraries on the measured path and their versions
}

// EnvLoad is what else the machine was doing.
type EnvLoad struct {
	Load1 float64 `json:"load1"`
	Load5 float64 `json:"load5"`
	// OthersRatio is the share of the machine that went to other programs in
	// the half second before; load averages still hold what ended minutes ago.
	OthersRatio float64  `json:"others_ratio"`
	Processes   []string `json:"top_processes"` // other programs: name, pid and CPU share then, busiest first
	NTP         string   `json:"ntp"`
}

// Advice is one finding of doctor: read-only, never applied.
type Advice struct {
	Fact   string `json:"fact"`
	Why    string `json:"why"`
	Effect string `json:"effect"`
	Test   string `json:"test"`
}
