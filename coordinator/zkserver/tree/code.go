package tree

import "strconv"

// Code is ZooKeeper's result of an operation (KeeperException.Code).
type Code int32

// The codes that this server gives.
const (
	OK                      Code = 0
	RuntimeInconsistency    Code = -2 // an operation of a multi after the one that failed
	MarshallingError        Code = -5
	Unimplemented           Code = -6
	BadArguments            Code = -8
	NoNode                  Code = -101
	NoAuth                  Code = -102
	BadVersion              Code = -103
	NoChildrenForEphemerals Code = -108
	NodeExists              Code = -110
	NotEmpty                Code = -111
	SessionExpired          Code = -112
	InvalidACL              Code = -114
	AuthFailed              Code = -115
	NoWatcher               Code = -121
	ReconfigDisabled        Code = -123
)

var codeNames = map[Code]string{
	OK: "OK", RuntimeInconsistency: "RUNTIMEINCONSISTENCY", MarshallingError: "MARSHALLINGERROR",
	Unimplemented: "UNIMPLEMENTED", BadArguments: "BADARGUMENTS", NoNode: "NONODE", NoAuth: "NOAUTH",
	BadVersion: "BADVERSION", NoChildrenForEphemerals: "NOCHILDRENFOREPHEMERALS", NodeExists: "NODEEXISTS",
	NotEmpty: "NOTEMPTY", SessionExpired: "SESSIONEXPIRED", InvalidACL: "INVALIDACL", AuthFailed: "AUTHFAILED",
	NoWatcher: "NOWATCHER", ReconfigDisabled: "RECONFIGDISABLED",
}

// String is ZooKeeper's name of the code.
func (c Code) String() string {
	if name, ok := codeNames[c]; ok {
		return name
	}
	return strconv.Itoa(int(c))
}
