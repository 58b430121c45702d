export const daysBefore = (now: number, days: number): Date => new Date(now - days * 86_400_000);
