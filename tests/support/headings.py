"""What each of the six pages says first, in the three languages. Typed here, not translated."""

__all__ = ["HEADINGS"]

HEADINGS = {
    "ar": {
        "paid": "تم استلام دفعتك",
        "checking": "تم استلام دفعتك – نقوم بمراجعتها",
        "processing": "دفعتك قيد المعالجة",
        "not_paid": "لم تكتمل عملية الدفع",
        "unavailable": "لا يمكننا تأكيد دفعتك الآن",
        "unknown": "لم نجد هذه الدفعة",
    },
    "he": {
        "paid": "התשלום התקבל",
        "checking": "התשלום התקבל – אנחנו בודקים אותו",
        "processing": "התשלום עדיין בעיבוד",
        "not_paid": "התשלום לא הושלם",
        "unavailable": "לא ניתן לאשר את התשלום כרגע",
        "unknown": "לא מצאנו את התשלום",
    },
    "en": {
        "paid": "Payment received",
        "checking": "Payment received – we are checking it",
        "processing": "Your payment is still being processed",
        "not_paid": "Payment not completed",
        "unavailable": "We cannot confirm your payment right now",
        "unknown": "We could not find this payment",
    },
}
