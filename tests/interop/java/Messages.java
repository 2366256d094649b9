import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Writes any message of the wire: Kafka's generated classes take it as JSON and give its bytes. */
final class Messages {
    private static final ObjectMapper JSON = new ObjectMapper();

    private Messages() {
    }

    static ByteBuffer write(Map<String, Object> question) throws Exception {
        short version = ((Number) question.get("version")).shortValue();
        Class<?> converter = Class.forName(question.get("class") + "JsonConverter");
        JsonNode fields = JSON.valueToTree(question.get("fields"));
        Message message = (Message) converter.getMethod("read", JsonNode.class, short.class).invoke(null, fields, version);
        ObjectSerializationCache sizes = new ObjectSerializationCache();
        ByteBuffer bytes = ByteBuffer.allocate(message.size(sizes, version));
        message.write(new ByteBufferAccessor(bytes), sizes, version);
        bytes.flip();
        return bytes;
    }
}
