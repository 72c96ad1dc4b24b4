// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

// Reads and writes messages with Go's protobuf, for run.py. What it
// reads and prints, line by line, is described in libprotobuf_main.cc.
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strconv"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	_ "interop/schema"
)

type tree = map[string]any

func treeOfValue(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return treeOf(value.Message())
	case protoreflect.FloatKind:
		return fmt.Sprintf("%08x", math.Float32bits(float32(value.Float())))
	case protoreflect.DoubleKind:
		return fmt.Sprintf("%016x", math.Float64bits(value.Float()))
	case protoreflect.BoolKind:
		return value.Bool()
	case protoreflect.StringKind:
		return value.String()
	case protoreflect.BytesKind:
		return hex.EncodeToString(value.Bytes())
	case protoreflect.EnumKind:
		return strconv.Itoa(int(value.Enum()))
	}
	return fmt.Sprint(value.Interface())
}

func treeOf(message protoreflect.Message) tree {
	result := tree{}
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		var member any
		if field.IsMap() {
			entries := []any{}
			value.Map().Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
				entries = append(entries, tree{
					"1": treeOfValue(field.MapKey(), key.Value()),
					"2": treeOfValue(field.MapValue(), value),
				})
				return true
			})
			member = entries
		} else if field.IsList() {
			elements := []any{}
			for i := range value.List().Len() {
				elements = append(elements, treeOfValue(field, value.List().Get(i)))
			}
			member = elements
		} else {
			member = treeOfValue(field, value)
		}
		result[strconv.Itoa(int(field.Number()))] = member
		return true
	})
	return result
}

func check[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func valueOf(field protoreflect.FieldDescriptor, value any) protoreflect.Value {
	if field.Kind() == protoreflect.BoolKind {
		return protoreflect.ValueOfBool(value.(bool))
	}
	text := value.(string)
	switch field.Kind() {
	case protoreflect.FloatKind:
		bits := check(strconv.ParseUint(text, 16, 32))
		return protoreflect.ValueOfFloat32(math.Float32frombits(uint32(bits)))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(math.Float64frombits(check(strconv.ParseUint(text, 16, 64))))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text)
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes(check(hex.DecodeString(text)))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(check(strconv.ParseInt(text, 10, 32))))
	case protoreflect.Int32Kind, protoreflect.Sint32Kind, protoreflect.Sfixed32Kind:
		return protoreflect.ValueOfInt32(int32(check(strconv.ParseInt(text, 10, 32))))
	case protoreflect.Uint32Kind, protoreflect.Fixed32Kind:
		return protoreflect.ValueOfUint32(uint32(check(strconv.ParseUint(text, 10, 32))))
	case protoreflect.Int64Kind, protoreflect.Sint64Kind, protoreflect.Sfixed64Kind:
		return protoreflect.ValueOfInt64(check(strconv.ParseInt(text, 10, 64)))
	case protoreflect.Uint64Kind, protoreflect.Fixed64Kind:
		return protoreflect.ValueOfUint64(check(strconv.ParseUint(text, 10, 64)))
	}
	panic("no such type: " + field.Kind().String())
}

func fill(message protoreflect.Message, from tree) {
	for number, value := range from {
		id := protoreflect.FieldNumber(check(strconv.Atoi(number)))
		field := message.Descriptor().Fields().ByNumber(id)
		if field.IsMap() {
			entries := message.Mutable(field).Map()
			for _, element := range value.([]any) {
				entry := element.(tree)
				key := valueOf(field.MapKey(), entry["1"]).MapKey()
				if field.MapValue().Message() != nil {
					fill(entries.Mutable(key).Message(), entry["2"].(tree))
				} else {
					entries.Set(key, valueOf(field.MapValue(), entry["2"]))
				}
			}
		} else if field.IsList() {
			list := message.Mutable(field).List()
			for _, element := range value.([]any) {
				if field.Message() != nil {
					fill(list.AppendMutable().Message(), element.(tree))
				} else {
					list.Append(valueOf(field, element))
				}
			}
		} else if field.Message() != nil {
			fill(message.Mutable(field).Message(), value.(tree))
		} else {
			message.Set(field, valueOf(field, value))
		}
	}
}

func answer(line []byte) (result tree) {
	defer func() {
		if problem := recover(); problem != nil {
			result = tree{"error": fmt.Sprint(problem)}
		}
	}()
	var request struct {
		Type string
		Hex  *string
		Tree tree
	}
	if err := json.Unmarshal(line, &request); err != nil {
		panic(err)
	}
	messageType := check(protoregistry.GlobalTypes.FindMessageByName(protoreflect.FullName(request.Type)))
	message := messageType.New()
	result = tree{}
	if request.Hex == nil {
		fill(message, request.Tree)
	} else {
		if err := proto.Unmarshal(check(hex.DecodeString(*request.Hex)), message.Interface()); err != nil {
			panic(err)
		}
		result["tree"] = treeOf(message)
	}
	result["hex"] = hex.EncodeToString(check(proto.Marshal(message.Interface())))
	return result
}

func main() {
	reader := bufio.NewReader(os.Stdin)
	writer := bufio.NewWriter(os.Stdout)
	defer writer.Flush()
	encoder := json.NewEncoder(writer)
	for {
		line, err := reader.ReadBytes('\n')
		if err != nil {
			return
		}
		if err := encoder.Encode(answer(line)); err != nil {
			panic(err)
		}
	}
}
