export const openApiJson = (): string => '{}';
