// Package nvfm: an own stand-in for the fabric manager bindings (no library is opened).
package nvfm

type Return int

const (
	SUCCESS       Return = 0
	NOT_SUPPORTED Return = 1
)

func (r Return) String() string {
	return map[Return]string{0: "SUCCESS", 1: "NOT_SUPPORTED (stand-in)"}[r]
}
func (r Return) Error() string { return r.String() }

type FabricPartitionId uint32

type FabricPartitionGpuInfo struct {
	PhysicalId          uint32
	Uuid                [80]int8
	PciBusId            [32]int8
	NumNvLinksAvailable uint32
	MaxNumNvLinks       uint32
	NvlinkLineRateMBps  uint32
}

type FabricPartitionInfo struct {
	PartitionId uint32
	IsActive    uint32
	NumGpus     uint32
	GpuInfo     [16]FabricPartitionGpuInfo
}

type FabricPartitionList struct {
	Version          uint32
	NumPartitions    uint32
	MaxNumPartitions uint32
	PartitionInfo    [64]FabricPartitionInfo
}

type options struct{}
type LibraryOption func(*options)
type ConnectOption func(*options)

func WithLibraryPath(string) LibraryOption { return func(*options) {} }
func WithUnixSocket(string) ConnectOption  { return func(*options) {} }
func WithAddress(string) ConnectOption     { return func(*options) {} }
func WithTimeoutMs(uint32) ConnectOption   { return func(*options) {} }

type Handle interface {
	Disconnect() Return
	GetSupportedFabricPartitions() (FabricPartitionList, Return)
	ActivateFabricPartition(FabricPartitionId) Return
	DeactivateFabricPartition(FabricPartitionId) Return
}

type Interface interface {
	Init() Return
	Shutdown() Return
	Connect(...ConnectOption) (Handle, Return)
}

type none struct{}

func New(...LibraryOption) Interface                   { return none{} }
func (none) Init() Return                              { return NOT_SUPPORTED }
func (none) Shutdown() Return                          { return SUCCESS }
func (none) Connect(...ConnectOption) (Handle, Return) { return nil, NOT_SUPPORTED }
