import { Type } from 'typebox';

export const ExportStream = {
  description: 'One JSON object per line. `type` says what it is.',
  content: {
    'application/x-ndjson': {
      schema: Type.String({
        examples: ['{"type":"merchant","name":"Aurora Coffee"}\n{"type":"conversation","id":1}\n'],
      }),
    },
  },
};
