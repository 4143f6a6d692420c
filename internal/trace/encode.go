package trace

import (
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// AppendJSON appends the event as one line of trace.jsonl, without the line
// end, and returns the extended slice.
func AppendJSON(dst []byte, e *Event) []byte {
	dst = append(dst, `{"id":"`...)
	dst = appendID(dst, e.ID)
	dst = append(dst, `","t_ns":`...)
	dst = strconv.AppendInt(dst, int64(e.At), 10)
	dst = append(dst, `,"broker":`...)
	dst = strconv.AppendInt(dst, int64(e.ID.Broker), 10)
	dst = append(dst, `,"event":"`...)
	dst = append(dst, e.Kind.String()...)
	dst = append(dst, '"')
	if !e.Cause.IsZero() {
		dst = append(dst, `,"cause":"`...)
		dst = appendID(dst, e.Cause)
		dst = append(dst, '"')
	}
	if !e.Asked.IsZero() {
		dst = append(dst, `,"asked":"`...)
		dst = append(appendRequest(dst, e.Asked), '"')
	}
	if e.TopicPartition != "" {
		dst = append(dst, `,"tp":`...)
		dst = appendString(dst, e.TopicPartition)
		dst = append(dst, `,"epoch":`...)
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
	}
	if e.Kind > 0 && e.Kind < kinds {
		for _, f := range layouts[e.Kind].fields {
			dst = appendField(dst, f, e)
		}
	}
	return append(dst, '}')
}

func appendID(dst []byte, id ID) []byte {
	dst = strconv.AppendInt(dst, int64(id.Broker), 10)
	dst = append(dst, ':')
	return strconv.AppendUint(dst, id.Seq, 10)
}

func appendRequest(dst []byte, r Request) []byte {
	dst = strconv.AppendInt(dst, int64(r.Broker), 10)
	return strconv.AppendInt(append(dst, '/'), int64(r.Correlation), 10)
}

func appendField(dst []byte, f field, e *Event) []byte {
	if text, isText := e.text(f); isText {
		if text == "" {
			return dst // an absent word and an empty one mean the same
		}
		return appendString(appendName(dst, f), text)
	}
	if f == bytesField && e.Bytes == 0 {
		return dst // the simulator's records have no size
	}
	dst = appendName(dst, f)
	switch f {
	case oldField, newField, waitingField:
		return appendSet(dst, e.set(f))
	case uncleanField:
		return strconv.AppendBool(dst, e.Unclean)
	default:
		return strconv.AppendInt(dst, e.number(f), 10)
	}
}

func appendName(dst []byte, f field) []byte {
	dst = append(dst, ',', '"')
	dst = append(dst, fieldNames[f]...)
	return append(dst, '"', ':')
}

func appendSet(dst []byte, set []int32) []byte {
	dst = append(dst, '[')
	for i, b := range set {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = strconv.AppendInt(dst, int64(b), 10)
	}
	return append(dst, ']')
}

// appendString appends a JSON string. Plain ASCII, which is what events hold,
// is copied; the library does the rest.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf || c == '<' || c == '>' || c == '&' {
			quoted, err := json.Marshal(s)
			if err != nil {
				return append(dst, `""`...) // a string always marshals
			}
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

func (e *Event) number(f field) int64 {
	switch f {
	case fromField:
		return e.From
	case toField:
		return e.To
	case leoField:
		return e.LogEndOffset
	case hwField:
		return e.HighWatermark
	case recordsField:
		return int64(e.Records)
	case followerField:
		return int64(e.Follower)
	case leaderField:
		return int64(e.Leader)
	case oldLeaderField:
		return int64(e.OldLeader)
	case correlationField:
		return int64(e.Correlation)
	case deadlineField:
		return int64(e.Deadline)
	case versionField:
		return int64(e.Version)
	case bytesField:
		return e.Bytes
	case generationField:
		return int64(e.Generation)
	case producerField:
		return e.Producer
	case producerEpochField:
		return int64(e.ProducerEpoch)
	case countField:
		return e.Count
	default:
		return e.Owner
	}
}

func (e *Event) text(f field) (text string, isText bool) {
	switch f {
	case phaseField:
		return e.Phase, true
	case whatField:
		return e.What, true
	case keyField:
		return e.Key, true
	case pathField:
		return e.Path, true
	case opField:
		return e.Op, true
	case errorField:
		return e.Error, true
	case whyField:
		return e.Why, true
	case memberField:
		return e.Member, true
	default:
		return "", false
	}
}

func (e *Event) set(f field) []int32 {
	switch f {
	case oldField:
		return e.Old
	case newField:
		return e.New
	default:
		return e.WaitingFor
	}
}
