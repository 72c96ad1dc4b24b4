// Copyright 2026 The protozero authors. SPDX-License-Identifier: Apache-2.0

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.ByteString;
import com.google.protobuf.DescriptorProtos.FileDescriptorProto;
import com.google.protobuf.DescriptorProtos.FileDescriptorSet;
import com.google.protobuf.Descriptors.Descriptor;
import com.google.protobuf.Descriptors.EnumValueDescriptor;
import com.google.protobuf.Descriptors.FieldDescriptor;
import com.google.protobuf.Descriptors.FileDescriptor;
import com.google.protobuf.DynamicMessage;
import com.google.protobuf.Message;
import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Reads and writes messages with Java's protobuf, for run.py.
 *
 * <p>{@code Interop DESCRIPTORS}; what it reads and prints, line by line, is described in
 * libprotobuf_main.cc.
 */
public final class Interop {
  private static final HexFormat HEX = HexFormat.of();

  private static JsonElement treeOfValue(FieldDescriptor field, Object value) {
    switch (field.getType()) {
      case MESSAGE:
      case GROUP:
        return treeOf((Message) value);
      case FLOAT:
        return new JsonPrimitive(HEX.toHexDigits(Float.floatToRawIntBits((Float) value)));
      case DOUBLE:
        return new JsonPrimitive(HEX.toHexDigits(Double.doubleToRawLongBits((Double) value)));
      case BOOL:
        return new JsonPrimitive((Boolean) value);
      case BYTES:
        return new JsonPrimitive(HEX.formatHex(((ByteString) value).toByteArray()));
      case ENUM:
        return new JsonPrimitive(Integer.toString(((EnumValueDescriptor) value).getNumber()));
      case UINT32:
      case FIXED32:
        return new JsonPrimitive(Integer.toUnsignedString((Integer) value));
      case UINT64:
      case FIXED64:
        return new JsonPrimitive(Long.toUnsignedString((Long) value));
      default:
        return new JsonPrimitive(value.toString());
    }
  }

  private static JsonObject treeOf(Message message) {
    JsonObject tree = new JsonObject();
    for (Map.Entry<FieldDescriptor, Object> member : message.getAllFields().entrySet()) {
      FieldDescriptor field = member.getKey();
      JsonElement value;
      if (field.isRepeated()) {
        JsonArray elements = new JsonArray();
        for (Object element : (List<?>) member.getValue()) {
          elements.add(treeOfValue(field, element));
        }
        value = elements;
      } else {
        value = treeOfValue(field, member.getValue());
      }
      tree.add(Integer.toString(field.getNumber()), value);
    }
    return tree;
  }

  private static Object valueOf(FieldDescriptor field, JsonElement tree) {
    switch (field.getType()) {
      case MESSAGE:
      case GROUP:
        return fill(field.getMessageType(), tree.getAsJsonObject());
      case FLOAT:
        return Float.intBitsToFloat(Integer.parseUnsignedInt(tree.getAsString(), 16));
      case DOUBLE:
        return Double.longBitsToDouble(Long.parseUnsignedLong(tree.getAsString(), 16));
      case BOOL:
        return tree.getAsBoolean();
      case STRING:
        return tree.getAsString();
      case BYTES:
        return ByteString.copyFrom(HEX.parseHex(tree.getAsString()));
      case ENUM:
        int number = Integer.parseInt(tree.getAsString());
        return field.legacyEnumFieldTreatedAsClosed()
            ? field.getEnumType().findValueByNumber(number)
            : field.getEnumType().findValueByNumberCreatingIfUnknown(number);
      case UINT32:
      case FIXED32:
        return Integer.parseUnsignedInt(tree.getAsString());
      case UINT64:
      case FIXED64:
        return Long.parseUnsignedLong(tree.getAsString());
      case INT32:
      case SINT32:
      case SFIXED32:
        return Integer.parseInt(tree.getAsString());
      default:
        return Long.parseLong(tree.getAsString());
    }
  }

  private static DynamicMessage fill(Descriptor type, JsonObject tree) {
    DynamicMessage.Builder message = DynamicMessage.newBuilder(type);
    for (Map.Entry<String, JsonElement> member : tree.entrySet()) {
      FieldDescriptor field = type.findFieldByNumber(Integer.parseInt(member.getKey()));
      if (field.isRepeated()) {
        for (JsonElement element : member.getValue().getAsJsonArray()) {
          message.addRepeatedField(field, valueOf(field, element));
        }
      } else {
        message.setField(field, valueOf(field, member.getValue()));
      }
    }
    return message.build();
  }

  private static JsonObject answer(Map<String, Descriptor> types, JsonObject request)
      throws Exception {
    Descriptor type = types.get(request.get("type").getAsString());
    JsonObject result = new JsonObject();
    DynamicMessage message;
    if (request.has("tree")) {
      message = fill(type, request.getAsJsonObject("tree"));
    } else {
      message = DynamicMessage.parseFrom(type, HEX.parseHex(request.get("hex").getAsString()));
      result.add("tree", treeOf(message));
    }
    result.addProperty("hex", HEX.formatHex(message.toByteArray()));
    return result;
  }

  public static void main(String[] args) throws Exception {
    Map<String, Descriptor> types = new HashMap<>();
    try (InputStream input = new FileInputStream(args[0])) {
      for (FileDescriptorProto file : FileDescriptorSet.parseFrom(input).getFileList()) {
        for (Descriptor type :
            FileDescriptor.buildFrom(file, new FileDescriptor[0]).getMessageTypes()) {
          types.put(type.getFullName(), type);
        }
      }
    }
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream output = new PrintStream(System.out, false, StandardCharsets.UTF_8);
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      JsonObject result;
      try {
        result = answer(types, JsonParser.parseString(line).getAsJsonObject());
      } catch (Exception error) {
        result = new JsonObject();
        result.addProperty("error", error.toString());
      }
      output.println(result);
    }
    output.flush();
  }
}
