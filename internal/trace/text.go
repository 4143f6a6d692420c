package trace

import (
	"strconv"
	"time"
)

// AppendText appends the event as one line for people, without the line end:
//
//	12.5ms b2:7 orders-0@3 truncate from=9 to=7 hw=6 why="diverging epoch" <- b1:4
//
// Golden tests compare these lines. Words that are empty and sets that are empty
// are left out.
func AppendText(dst []byte, e *Event) []byte {
	dst = append(dst, e.At.Round(time.Microsecond).String()...)
	dst = append(dst, ' ')
	dst = appendPerson(dst, e.ID)
	if e.TopicPartition != "" {
		dst = append(dst, ' ')
		dst = append(dst, e.TopicPartition...)
		dst = append(dst, '@')
		dst = strconv.AppendInt(dst, int64(e.Epoch), 10)
	}
	dst = append(dst, ' ')
	dst = append(dst, e.Kind.String()...)
	if e.Kind > 0 && e.Kind < kinds {
		for _, f := range layouts[e.Kind].fields {
			dst = appendFieldText(dst, f, e)
		}
	}
	if !e.Cause.IsZero() {
		dst = append(dst, " <- "...)
		dst = appendPerson(dst, e.Cause)
	}
	if !e.Asked.IsZero() {
		dst = append(dst, " <- request "...)
		dst = appendRequest(dst, e.Asked)
	}
	return dst
}

// appendPerson writes b1:7 for a broker's event and 7 for one from outside.
func appendPerson(dst []byte, id ID) []byte {
	if id.Broker == Outside {
		return strconv.AppendUint(append(dst, '#'), id.Seq, 10)
	}
	return appendID(append(dst, 'b'), id)
}

func appendFieldText(dst []byte, f field, e *Event) []byte {
	text, isText := e.text(f)
	if isText {
		if text == "" {
			return dst
		}
		switch f {
		case phaseField, opField, whatField, pathField:
			return append(append(dst, ' '), text...)
		}
		dst = append(append(append(dst, ' '), fieldNames[f]...), '=')
		return strconv.AppendQuote(dst, text)
	}
	switch f {
	case oldField, newField, waitingField:
		if len(e.set(f)) == 0 {
			return dst
		}
		dst = append(append(append(dst, ' '), fieldNames[f]...), '=')
		return appendSet(dst, e.set(f))
	case bytesField:
		if e.Bytes == 0 {
			return dst
		}
	case uncleanField:
		if !e.Unclean {
			return dst
		}
		return append(dst, " unclean"...)
	case deadlineField:
		dst = append(dst, " deadline="...)
		return append(dst, e.Deadline.Round(time.Microsecond).String()...)
	}
	dst = append(append(append(dst, ' '), fieldNames[f]...), '=')
	return strconv.AppendInt(dst, e.number(f), 10)
}
